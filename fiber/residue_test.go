package fiber

import (
	"runtime/debug"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber/internal/identity"
)

// Both fields are found on every release that is tested, and are what they are taken for.
func TestResidueIsFound(t *testing.T) {
	require.True(t, residueOffsets().known)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r := ResidueHere()
		var labels [8]uintptr
		identity.SetProfLabels(unsafe.Pointer(&labels))
		assert.Equal(t, unsafe.Pointer(&labels), *r.labels)
		debug.SetPanicOnFault(true)
		assert.True(t, *r.fault)
		r.Clear()
		assert.Nil(t, identity.ProfLabels())
		assert.False(t, debug.SetPanicOnFault(true))
		unknown := Residue{}
		identity.SetProfLabels(unsafe.Pointer(&labels))
		unknown.Clear()
		assert.Nil(t, identity.ProfLabels())
		assert.False(t, debug.SetPanicOnFault(false))
	}()
	<-done
}
