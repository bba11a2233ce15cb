package thread

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestCut(t *testing.T) {
	assert.Equal(t, "scheduler-w0", cut("scheduler", "-w0"))
	assert.Equal(t, "a long na-w1234", cut("a long name of a scheduler", "-w1234"))
	assert.Equal(t, "a long-g12w1234", cut("a long name of a scheduler", "-g12w1234"))
	for _, name := range []string{
		"", "x", strings.Repeat("x", 100), strings.Repeat("\u00e9", 10), strings.Repeat("\u4e16", 10),
	} {
		for _, suffix := range []string{"-w0", "-w63", "-w100000", "-g0w7", "-g1562w100000"} {
			kept := cut(name, suffix)
			assert.LessOrEqual(t, len(kept), longestName, kept)
			assert.True(t, utf8.ValidString(kept), kept)
			assert.True(t, strings.HasSuffix(kept, suffix), kept)
		}
	}
}
