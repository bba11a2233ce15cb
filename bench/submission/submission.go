// Package submission measures the swap that a student has written for lab 2 or 3, by the loops of package bench.
// The swap runs in a confined process of its own: one that crashes or does not come back ends that process.
package submission

import (
	"context"
	_ "embed"
	"os"
	"slices"
	"strings"
	"time"

	"fiberlab/bench"
	"fiberlab/labs/check/swap"
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
	"fiberlab/labs/sandbox"
)

// Name is the name of the student's mechanism.
const Name = "yours"

// answerTime is how long the start and the check, or one sample, may take. A swap that is right takes
// milliseconds; an emulator takes seconds to start. Tests set a shorter time.
var answerTime = 10 * time.Second

// emulator is the command that runs programs of another architecture than the machine's; empty on the machine itself.
var emulator = strings.Fields(os.Getenv("FIBERLAB_EXEC"))

func init() {
	if len(emulator) > 0 {
		answerTime = 2 * time.Minute
	}
}

// processorTime is what the process may use: the limit of each sample ends a swap that does not come back.
const processorTime = 24 * time.Hour

//go:embed harness/swap.c
var harness string

// Lab returns the lab about the swap of this machine's architecture, since only such a swap can be measured. If there
// is none, it returns the first lab about a swap.
func Lab() *grade.Lab {
	labs := swap.Labs()
	return labs[max(0, slices.IndexFunc(labs, func(l *grade.Lab) bool { return l.On(machine.Native()) == nil }))]
}

// With builds the swap in the folder dir as the grader does, and calls use with a mechanism that switches by it.
// When ctx ends, so does a sample of the mechanism. It returns the errors of use and of grade.Lab.Build. The
// program that calls it has called sandbox.Init.
func With(ctx context.Context, dir string, use func(bench.Mechanism) error) error {
	if err := machine.Known(); err != nil {
		return err
	}
	o := grade.Options{Arch: machine.Native(), Dir: dir}
	text := strings.Replace(harness, `#include "../../pingpong.h"`, bench.PingpongHeader, 1)
	sources := map[string]string{"swap.c": text}
	return Lab().Build(ctx, o, sources, func(program *machine.Program) error {
		argv := sandbox.Wrap(slices.Concat(emulator, []string{program.Path}), sandbox.Limits{CPU: processorTime})
		return use(bench.Mechanism{Name: Name, Open: func() (bench.Session, error) {
			return bench.OpenProcess(ctx, "the swap", answerTime, argv...)
		}})
	})
}
