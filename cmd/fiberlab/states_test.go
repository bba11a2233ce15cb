package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/cmd/fiberlab/wordcount"
)

func TestStates(t *testing.T) {
	for _, policy := range policyNames() {
		for _, workers := range []string{"0", "2"} {
			got := newLab(
				nil, nil,
			).test(t, "run", "--no-table", "--states", "--workers", workers, "--policy", policy, smallTree(t))
			require.Zero(t, got.code, got.stderr)
			require.Contains(t, got.stdout, "workers of each scheduler: "+workers+"; policy: "+policy+"\n")
			for _, row := range []string{"Idle -> Running", "Running -> Idle", "Running -> Yielded", "Running -> " +
				"Waiting",
				"Running -> Queued", "Yielded -> Queued", "Waiting -> Queued", "Queued -> Running"} {
				require.Regexp(t, `(?m)^`+row+`( +[1-9]\d*){3}$`, got.stdout)
			}
		}
	}

	got := newLab(nil, nil).test(t, "run", "--no-table", "--states", "--json", "--backend", "ucontext", smallTree(t))
	require.Zero(t, got.code, got.stderr)
	br := decode(t, got.stdout).Pipeline.Backends[0]
	require.Len(t, br.Transitions, 8)
	into := 0
	for _, tr := range br.Transitions {
		if tr.To == "Running" {
			into += int(tr.Count)
		}
	}
	require.Equal(t, br.Switches, into)
}

// A run in which a state does not occur, here because nothing is recorded, must fail and name it.
func TestAnAbsentStateFails(t *testing.T) {
	l := newLab(nil, nil)
	l.countOnFibers = func(ctx context.Context, files []wordcount.File, o wordcount.Options) (*wordcount.Result, error) {
		o.Scheduler.Recorder = nil
		return wordcount.Count(ctx, files, o)
	}
	got := l.test(t, "run", "--no-table", "--backend", "asm", smallTree(t))
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.stderr, "asm: no fiber was ever Idle nor Yielded nor Waiting nor Queued nor Running")
}
