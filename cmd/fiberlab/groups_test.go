package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/wordcount"
)

// What the flags say about groups is what the schedulers are made with, and the counts agree.
func TestGroupFlags(t *testing.T) {
	for _, c := range []struct {
		args []string
		want sched.Groups
	}{
		{nil, sched.Groups{Size: sched.GroupSize, Spinners: sched.DefaultSpinners}},
		{[]string{"--mode", "balance", "--group-size", "1"}, sched.Groups{Size: 1, Spinners: sched.DefaultSpinners}},
		{[]string{"--mode", "affinity", "--spinners", "0", "--group-size", "2"}, sched.Groups{Size: 2, Spinners: -1, Mode: sched.AffinityMode}},
		{[]string{"--spinners", "3", "--policy", "stealing"}, sched.Groups{Size: sched.GroupSize, Spinners: 3}},
	} {
		l := newLab(nil, nil)
		l.countOnFibers = func(ctx context.Context, files []wordcount.File, o wordcount.Options) (*wordcount.Result, error) {
			require.Equal(t, c.want, o.Scheduler.Groups, "%q", c.args)
			return wordcount.Count(ctx, files, o)
		}
		got := l.test(t, append([]string{"run", "--json", "--no-table", "--workers", "3", "--policy", "group", smallTree(t)}, c.args...)...)
		require.Zero(t, got.code, "%q: %s", c.args, got.stderr)
		for _, b := range decode(t, got.stdout).Pipeline.Backends {
			require.True(t, b.Agrees, "%q: %s", c.args, b.Backend)
		}
	}
}
