package grade_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// A panic of a check is an error of Examine, one item at a time and several.
func TestExaminePanic(t *testing.T) {
	check := func(context.Context, *grade.Bench) ([]grade.Fault, error) { panic("no such register") }
	for atOnce := range 3 {
		lab := &grade.Lab{Number: "77", AtOnce: atOnce, Items: []grade.Item{{Name: "one", Check: check}}}
		_, err := lab.Examine(t.Context(), &grade.Bench{Arch: machine.Native()}, nil)
		require.ErrorContains(t, err, "lab 77, one: the grader failed: no such register\n")
	}
}

// A place is left out only if the text names that very line.
func TestWhere(t *testing.T) {
	at := grade.Fault{Text: "rbx differs (swap.S:14)", Place: machine.Place{File: "student/swap.S", Line: 14}}
	require.Empty(t, at.Where())
	at.Place.Line = 1
	require.Equal(t, " (swap.S:1)", at.Where())
	at.Place.Line = 0
	require.Empty(t, at.Where())
	require.Empty(t, grade.Fault{Text: "rbx differs"}.Where())
}
