package sched

import (
	"runtime"
	"slices"
	"strings"
)

// The packages whose functions are the wait itself, and not the place of it.
var waitPackages = []string{"fiberlab/sched.", "fiberlab/sched/park.", "fiberlab/sched/fibersync.", "fiberlab/sched/forkjoin."}

// frames names the places of a stack, without those of these packages, and the function of theirs that was called.
func frames(pcs []uintptr) (list []runtime.Frame, call string) {
	for walk := runtime.CallersFrames(pcs); ; {
		f, more := walk.Next()
		switch {
		case slices.ContainsFunc(waitPackages, func(p string) bool { return strings.HasPrefix(f.Function, p) }):
			if len(list) == 0 {
				call = strings.TrimPrefix(f.Function, "fiberlab/sched/")
				call = strings.TrimPrefix(call, "fiberlab/")
			}
		case f.Function != "":
			list = append(list, f)
		}
		if !more {
			return list, call
		}
	}
}

// waitingCall names the function of this package or of the primitives that the calling task has called,
// and in which it waits.
func waitingCall() string {
	var pcs [32]uintptr
	_, call := frames(pcs[:runtime.Callers(2, pcs[:])])
	call, _, _ = strings.Cut(strings.ReplaceAll(call, "[...]", ""), ".func") // the body of an iterator
	return call
}
