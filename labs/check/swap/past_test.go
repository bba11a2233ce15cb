package swap_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/check/swap"
)

// withoutEnd returns a change that removes the jump at the end of a swap.
func withoutEnd(t *testing.T) func(text string) string {
	return func(text string) string {
		at := max(strings.LastIndex(text, "\n    ret "), strings.LastIndex(text, "\n    jmp "))
		require.Positive(t, at)
		end := at + 1 + strings.Index(text[at+1:], "\n")
		return text[:at] + text[end:]
	}
}

// A swap without its last instruction never comes to another instruction that returns, even if nothing of the
// submission follows it.
func TestSwapWithoutItsEnd(t *testing.T) {
	for _, l := range swap.Labs() {
		r := gradeWith(t, l, "z.S", withoutEnd(t)) // the last of its sources
		require.Nil(t, r.Build, "%+v", r.Build)
		require.NotEmpty(t, r.Items[0].Faults, l.Number)
		require.Contains(t, r.Items[0].Faults[0].Text, "runs on past its end", l.Number)
	}
}

// A right swap is not blamed for code around it: the linker puts the trampoline right behind the swap, and a jump there
// is no fall.
func TestRightSwapInAWrongWorld(t *testing.T) {
	for _, l := range swap.Labs() {
		ending := map[string]string{"02": "ud2", "03": "udf     #0"}[l.Number]
		for name, change := range map[string]func(dir string){
			"a trampoline that faults": func(dir string) {
				replace(t, filepath.Join(dir, "trampoline.S"), "marl_fiber_trampoline:\n", "marl_fiber_trampoline:\n "+
					"   "+ending+"\n")
			},
			"a context that enters the trampoline at its end": func(dir string) {
				const entry = "(uintptr_t)marl_fiber_trampoline"
				replace(t, filepath.Join(dir, "context.c"), entry, entry+" + 4")
			},
		} {
			t.Run(l.Number+"/"+name, func(t *testing.T) {
				r := gradeChanged(t, l, change)
				require.Nil(t, r.Build, "%+v", r.Build)
				require.NotEmpty(t, r.Items[0].Faults)
				require.Zero(t, r.Items[0].Points)
				for _, item := range r.Items {
					for _, fault := range item.Faults {
						require.NotContains(t, fault.Text, "past its end", item.Name)
					}
				}
			})
		}
	}
}

// A swap that jumps nowhere does not fall into the trampoline, which the linker puts next.
func TestSwapWithoutItsJumpEntersNothing(t *testing.T) {
	for _, l := range swap.Labs() {
		r := gradeWith(t, l, "swap.S", withoutEnd(t))
		require.Nil(t, r.Build, "%+v", r.Build)
		require.Zero(t, r.Items[0].Points, l.Number)
		require.Contains(t, r.Items[0].Faults[0].Text, "runs on past its end", l.Number)
	}
}
