package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/cmd/fiberlab/wordcount"
	"fiberlab/sched"
)

// What the flags say about groups is what the schedulers are made with, and the counts agree.
func TestGroupFlags(t *testing.T) {
	for _, c := range []struct {
		args []string
		want sched.Groups
	}{
		{nil, sched.Groups{Size: sched.GroupSize, Spinners: sched.DefaultSpinners}},
		{[]string{"--mode", "balance", "--group-size", "1"}, sched.Groups{Size: 1, Spinners: sched.DefaultSpinners}},
		{
			[]string{"--mode", "affinity", "--spinners", "0", "--group-size", "2"},
			sched.Groups{Size: 2, Spinners: -1, Mode: sched.AffinityMode},
		},
		{[]string{"--spinners", "3", "--policy", "stealing"}, sched.Groups{Size: sched.GroupSize, Spinners: 3}},
	} {
		l := newLab(nil, nil)
		l.countOnFibers = func(ctx context.Context, files []wordcount.File, o wordcount.Options) (*wordcount.Result, error) {
			require.Equal(t, c.want, o.Scheduler.Groups, "%q", c.args)
			return wordcount.Count(ctx, files, o)
		}
		got := l.test(
			t,
			append(
				[]string{"run", "--json", "--no-table", "--workers", "3", "--policy", "group", smallTree(t)},
				c.args...)...)
		require.Zero(t, got.code, "%q: %s", c.args, got.stderr)
		for _, b := range decode(t, got.stdout).Pipeline.Backends {
			require.True(t, b.Agrees, "%q: %s", c.args, b.Backend)
		}
	}
}

// --stats prints a row for each group, as text and as JSON; other policies have none.
func TestGroupStats(t *testing.T) {
	args := []string{
		"run", "--no-table", "--stats", "--workers", "4", "--group-size", "3", "--policy", "group,stealing",
		smallTree(t),
	}
	got := newLab(nil, nil).test(t, args...)
	require.Zero(t, got.code, got.stderr)
	for _, backend := range backendNames() {
		require.Regexp(t, `(?m)^`+backend+` group 0 +3( +\d+){6}$`, got.stdout)
		require.Regexp(t, `(?m)^`+backend+` group 1 +1 `, got.stdout)
		require.NotRegexp(t, `(?m)^`+backend+` stealing 0( +\d+){7}$`, got.stdout)
	}
	got = newLab(nil, nil).test(t, append(args, "--json")...)
	require.Zero(t, got.code, got.stderr)
	for _, b := range decode(t, got.stdout).Pipeline.Backends {
		if b.Policy != "group" {
			require.Empty(t, b.Groups)
			continue
		}
		require.Len(t, b.Groups, 2)
		done, begun := 0, 0
		for i, g := range b.Groups {
			require.Equal(t, i, g.Group)
			done += g.Done
		}
		for _, w := range b.Workers {
			begun += w.Tasks
		}
		require.LessOrEqual(t, done, begun)
		require.Positive(t, done)
	}
	got = newLab(nil, nil).test(t, "run", "--no-table", "--json", "--policy", "group", smallTree(t))
	require.Zero(t, got.code, got.stderr)
	require.NotContains(t, got.stdout, `"groups"`)
}
