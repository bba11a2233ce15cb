package swap_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/check/swap"
)

// A swap without its last instruction never comes to another instruction that returns, even if nothing of the submission follows it.
func TestSwapWithoutItsEnd(t *testing.T) {
	for _, l := range swap.Labs() {
		r := gradeWith(t, l, "z.S", func(text string) string { // the last of its sources
			at := max(strings.LastIndex(text, "\n    ret "), strings.LastIndex(text, "\n    jmp "))
			require.Positive(t, at)
			end := at + 1 + strings.Index(text[at+1:], "\n")
			return text[:at] + text[end:]
		})
		require.Nil(t, r.Build, "%+v", r.Build)
		require.NotEmpty(t, r.Items[0].Faults, l.Number)
		require.Contains(t, r.Items[0].Faults[0].Text, "runs on past its end", l.Number)
	}
}
