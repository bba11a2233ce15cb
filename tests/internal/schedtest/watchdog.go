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

// Watchdog ends the program, with what it knows of the scheduler, if progress stands
// still although the test is not over: a wake-up was lost.
func Watchdog(t *testing.T, s *sched.Scheduler, rec *trace.Recorder, progress *atomic.Uint64, state func() string) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		last, since := progress.Load(), time.Now()
		for {
			select {
			case <-stop:
				return
			case <-time.After(Standstill / 100):
			}
			if p := progress.Load(); p != last {
				last, since = p, time.Now()
			} else if time.Since(since) > Standstill {
				report(t, s, rec, state)
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-stopped })
}

// report writes what is known and ends the program, which hangs anyway.
func report(t *testing.T, s *sched.Scheduler, rec *trace.Recorder, state func() string) {
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	fmt.Fprintf(os.Stderr, "%s\n%s: nothing has happened for %v; %s\n", stacks, t.Name(), Standstill, suite.Repeat())
	fmt.Fprintln(os.Stderr, state())
	if rec != nil {
		events := rec.Events()
		for _, e := range events[max(0, len(events)-100):] {
			fmt.Fprintf(os.Stderr, "%v worker %d fiber %d: %v -> %v (%v)\n", e.At, e.Worker, e.Fiber, e.From, e.To, e.Why)
		}
	}
	told := make(chan struct{})
	go func() {
		fmt.Fprintf(os.Stderr, "%+v\n", s.Stats()) // needs the workers' locks
		close(told)
	}()
	select {
	case <-told:
	case <-time.After(time.Second):
		fmt.Fprintln(os.Stderr, "a worker's lock is held")
	}
	os.Exit(2)
}
