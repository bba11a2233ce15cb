package schedtest

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"fiberlab/sched"
	"fiberlab/sched/trace"
	"fiberlab/tests/internal/suite"
)

// Standstill is how long nothing at all may happen in a test that should go on. It is
// no limit for how long the test takes.
const Standstill = 60 * time.Second

// Watched is a part of a test that must go on.
type Watched struct {
	Scheduler *sched.Scheduler
	Recorder  *trace.Recorder // may be nil
	Progress  *atomic.Uint64  // grows as long as the part goes on
	State     func() string   // says how far it is
}

// Watch calls part, and ends the program with what is known of w if w's progress stands still before part has
// returned: a wake-up was lost.
func Watch(t *testing.T, w Watched, part func()) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		w.watch(t, stop)
	}()
	defer func() { close(stop); <-stopped }()
	part()
}

// watch looks a hundred times in a Standstill, and counts: a machine that stops the whole program is not to blame it.
func (w *Watched) watch(t *testing.T, stop <-chan struct{}) {
	const looks = 100
	last, quiet := w.Progress.Load(), 0
	for {
		select {
		case <-stop:
			return
		case <-time.After(Standstill / looks):
		}
		if now := w.Progress.Load(); now != last {
			last, quiet = now, 0
		} else if quiet++; quiet > looks {
			w.report(t)
		}
	}
}

// report writes what is known and ends the program, which hangs anyway.
func (w *Watched) report(t *testing.T) {
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	fmt.Fprintf(os.Stderr, "%s\n%s: nothing has happened for %v; %s\n", stacks, t.Name(), Standstill, suite.Repeat())
	fmt.Fprintln(os.Stderr, w.State())
	if w.Recorder != nil {
		events := w.Recorder.Events(sched.KindTransition)
		for _, e := range events[max(0, len(events)-100):] {
			fmt.Fprintf(
				os.Stderr, "%v worker %d fiber %d: %v -> %v (%v)\n", e.At, e.Worker, e.Fiber, e.From, e.To, e.Why,
			)
		}
	}
	told := make(chan struct{})
	go func() {
		fmt.Fprintf(os.Stderr, "%+v\n", w.Scheduler.Stats()) // needs the workers' locks
		close(told)
	}()
	select {
	case <-told:
	case <-time.After(time.Second):
		fmt.Fprintln(os.Stderr, "a worker's lock is held")
	}
	os.Exit(2)
}
