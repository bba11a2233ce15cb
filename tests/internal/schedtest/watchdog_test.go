package schedtest

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"fiberlab/internal/leaktest"
)

// What comes after a part that was watched may take any time: its watchdog has ended.
func TestWatchEndsWithItsPart(t *testing.T) {
	before := goleak.IgnoreCurrent()
	for range 3 {
		Watch(t, Watched{Progress: new(atomic.Uint64)}, func() {})
		require.NoError(t, leaktest.Find(before))
	}
	require.Panics(t, func() { Watch(t, Watched{Progress: new(atomic.Uint64)}, func() { panic("the part") }) })
	require.NoError(t, leaktest.Find(before))
}
