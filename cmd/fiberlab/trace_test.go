package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
)

func TestTraceFiles(t *testing.T) {
	dir := t.TempDir()
	tree := smallTree(t)
	got := newLab(
		nil, nil,
	).test(t, "run", "--no-table", "--trace", filepath.Join(dir, "one.json"), "--backend", "asm", tree)
	require.Zero(t, got.code, got.stderr)
	got = newLab(nil, nil).test(t, "run", "--no-table", "--trace", filepath.Join(dir, "all.json"), tree)
	require.Zero(t, got.code, got.stderr)
	names := []string{"one.json"}
	for _, b := range fiber.Backends() {
		names = append(names, "all."+b.String()+".json")
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		var trace struct{ TraceEvents []struct{ Name string } }
		require.NoError(t, json.Unmarshal(text, &trace))
		seen := map[string]bool{}
		for _, e := range trace.TraceEvents {
			seen[e.Name] = true
		}
		for _, task := range []string{"read", "split", "count", "clock", "notify", "all are blocked: the gate opens"} {
			require.True(t, seen[task], "%s: no %s", name, task)
		}
		for s := sched.Idle; s <= sched.Running; s++ {
			require.True(t, seen[s.String()], "%s: no fiber is %v", name, s)
		}
	}
	require.Len(t, names, 1+len(fiber.Backends()))
}

func TestATraceThatCannotBeWritten(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	got := newLab(nil, nil).test(t, "run", "--no-table", "--trace", "/dev/full", "--backend", "asm", smallTree(t))
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.stderr, "--trace: /dev/full: ")
	require.Contains(t, got.stderr, "no space left on device")
}
