package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/sched/uring"
)

// The doctor says what package uring has found, in both forms.
func TestDoctor(t *testing.T) {
	found := uring.Probe()
	if demanded := os.Getenv("FIBERLAB_DRIVER"); demanded != "" {
		require.Equal(t, demanded, found.Driver.String(), "the environment of this test demands another driver")
	}
	got := run(t, "doctor", "--json")
	require.Equal(t, exitDone, got.code, got.stderr)
	var r report
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &r))
	require.Equal(t, thisMachine(), r.Machine)
	require.Equal(t, "asm", r.Doctor.Backend)
	require.Equal(t, backendNames(), r.Doctor.Backends)
	require.Empty(t, r.Doctor.Refused)
	require.Contains(t, []string{"madvise", "mprotect"}, r.Doctor.Guards)
	require.NotEmpty(t, r.Doctor.Kernel)
	require.Equal(t, findIO(found), r.Doctor.IO)

	got = run(t, "doctor")
	require.Equal(t, exitDone, got.code, got.stderr)
	t.Log(got.stdout)
	require.Contains(t, got.stdout, runtime.Version()+" "+runtime.GOOS+"/"+runtime.GOARCH)
	require.Contains(t, got.stdout, "kernel: "+r.Doctor.Kernel)
	require.Contains(t, got.stdout, "driver "+found.Driver.String()+"\n")
	for _, f := range found.Features {
		require.Contains(t, got.stdout, f.Name+": "+f.Why)
	}

	got = run(t, "doctor", "please")
	require.Equal(t, exitUsage, got.code)
	require.Equal(t, "fiberlab: doctor please: it takes no arguments\n", got.stderr)
}

// It says why there is no ring, and which parts of one are missing.
func TestDoctorFindsWhatIsMissing(t *testing.T) {
	none := fmt.Errorf("%w: forbidden", uring.ErrUnavailable)
	p := &page{}
	d := diagnosis{
		Kernel: "6.0", Backends: []string{"asm"}, Backend: "asm", Guards: "mprotect",
		IO: findIO(uring.Report{Driver: uring.Epoll, Reason: none, Features: []uring.Feature{
			{Name: "PARTS", Why: "none"}, {Name: "OTHERS", Present: true, Why: "good"}}}),
	}
	d.writeText(p, machine{CPUs: 1})
	require.Contains(
		t, p.text.String(),
		"kernel: 6.0; 1 processor\nbackends of fibers: asm; the default is asm\nguards of stacks: by mprotect\n"+
			"input and output: driver epoll\n  no io_uring: forbidden\n  lacks PARTS: none\n  has OTHERS: good\n",
	)

	p = &page{}
	d.Refused = "it is of glass"
	d.writeText(p, machine{CPUs: 1})
	require.Contains(
		t, p.text.String(), "; the default is asm\n  asm and ucontext do not work here: it is of glass\nguards",
	)
}
