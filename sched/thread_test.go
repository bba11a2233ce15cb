package sched

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestThreadName(t *testing.T) {
	assert.Equal(t, "scheduler-w0", threadName("scheduler", -1, 0))
	assert.Equal(t, "a long na-w1234", threadName("a long name of a scheduler", -1, 1234))
	assert.Equal(t, "scheduler-g0w1", threadName("scheduler", 0, 1))
	assert.Equal(t, "a long-g12w1234", threadName("a long name of a scheduler", 12, 1234))
	for _, scheduler := range []string{
		"", "x", strings.Repeat("x", 100), strings.Repeat("\u00e9", 10), strings.Repeat("\u4e16", 10),
	} {
		for _, worker := range []int{0, 7, 63, 100_000} {
			for _, group := range []int{-1, 0, worker / GroupSize} {
				name := threadName(scheduler, group, worker)
				assert.LessOrEqual(t, len(name), longestThreadName, name)
				assert.True(t, utf8.ValidString(name), name)
			}
		}
	}
}
