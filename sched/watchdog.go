package sched

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"fiberlab/internal/clock"
)

// watch is the watchdog: it reports deadlocks to Config.Deadlocked, each once, until over is closed. Limit is how long
// nothing must happen. If certain is set, it reports a deadlock only if nothing else, as far as it sees, can end that.
func (s *Scheduler) watch(limit time.Duration, certain bool, over <-chan struct{}) {
	deadlocks := deadlockJudge{s: s, limit: clock.Instant(limit), certain: certain}
	var reported survey
	for {
		v := s.survey()
		again := time.Duration(-1)
		if v != reported {
			var deadlock *Deadlock
			if deadlock, again = deadlocks.judge(v); deadlock != nil {
				reported = v
				s.cfg.Deadlocked(deadlock)
			}
		}
		if !pause(deadlocks.limit, again, over) {
			return
		}
	}
}

// pause waits for a step of a judge with that limit, or for again if that is less and not negative. It returns
// false, at once, when over is closed.
func pause(limit clock.Instant, again time.Duration, over <-chan struct{}) bool {
	d := time.Duration(stepOf(limit))
	if again >= 0 {
		d = min(d, again)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-over:
		return false
	case <-timer.C:
		return true
	}
}

// reportDeadlock writes to stderr.
func reportDeadlock(d *Deadlock) { fmt.Fprintln(os.Stderr, d) }

// The watchdog asks whether one of the program's goroutines may still wake a fiber. The runtime lists no reasons for
// which a goroutine waits, but it shows its stack:
//
//	runtime.gopark                 the goroutine waits,
//	runtime.chanrecv               for a value from a channel,
//	main.main.func1                here: the place is the first function beyond the packages that implement the wait
//
// A timer of package time, and a thread of C that has not called Go yet, are on no stack.

// mostGoroutines is how many goroutines the watchdog looks at. In a program that has more, it reports nothing. Reading
// the stacks of 1,000 takes some 20 ms of a processor.
const mostGoroutines = 20_000

// outsideMayWake reports whether another scheduler, or a goroutine that is none of the workers, may come to wake a
// fiber of s. All workers of s sleep. Another scheduler's fibers may have deadlines, and while they switch, the one
// that runs looks like one that is suspended. It stops the program for a moment.
func (s *Scheduler) outsideMayWake() bool {
	if workersTaken.Load() > int64(len(s.everyWorker())) {
		return true
	}
	for n := runtime.NumGoroutine(); n <= mostGoroutines; {
		var ok bool
		records := make([]runtime.StackRecord, n+n/10+10)
		if n, ok = runtime.GoroutineProfile(records); !ok {
			continue // there are n by now
		}
		slices.SortFunc(records[:n], func(a, b runtime.StackRecord) int { return slices.Compare(a.Stack0[:], b.Stack0[:]) })
		return slices.ContainsFunc(slices.Compact(records[:n]), func(r runtime.StackRecord) bool {
			return waitOf(r.Stack()).mayWake()
		})
	}
	return true
}

// goroutineWait is what a stack says of a goroutine's wait.
type goroutineWait struct {
	library []string // the functions that implement the wait, the innermost first
	program []string // the others; the first one is the place
}

// libraries are the packages whose functions implement waits of Go.
var libraries = []string{"runtime.", "runtime/", "sync.", "sync/", "internal/", "syscall.", "time.", "iter."}

// ownPackages are the packages by which goroutines wait as workers, fibers, or callers of a primitive.
var ownPackages = append([]string{"fiberlab/fiber.", "fiberlab/fiber/", "fiberlab/internal/"}, waitPackages...)

func hasPrefix(function string, packages []string) bool {
	return slices.ContainsFunc(packages, func(p string) bool { return strings.HasPrefix(function, p) })
}

// waitOf says what a goroutine of that stack waits for.
func waitOf(stack []uintptr) (w goroutineWait) {
	for walk, more := runtime.CallersFrames(stack), len(stack) > 0; more; {
		var f runtime.Frame
		f, more = walk.Next()
		if len(w.program) == 0 && hasPrefix(f.Function, libraries) {
			w.library = append(w.library, f.Function)
		} else {
			w.program = append(w.program, f.Function)
		}
	}
	return w
}

// by reports whether functions of these names implement the wait.
func (w goroutineWait) by(prefixes ...string) bool {
	return slices.ContainsFunc(w.library, func(f string) bool { return hasPrefix(f, prefixes) })
}

// in reports whether the goroutine is in a call of that function of the program.
func (w goroutineWait) in(function string) bool { return slices.Contains(w.program, function) }

// parked reports whether the goroutine waits for Go to wake it.
func (w goroutineWait) parked() bool { return w.by("runtime.gopark") }

// needsGoroutine reports whether only another goroutine can end the wait. A receive and a select may also end by a
// timer.
func (w goroutineWait) needsGoroutine() bool {
	return w.parked() && w.by("runtime.chansend", "runtime.block", "sync.", "internal/sync.")
}

// mayWake reports whether the goroutine may come to wake a fiber, although no fiber and no other goroutine does
// anything.
func (w goroutineWait) mayWake() bool {
	if len(w.program) == 0 || w.in("fiberlab/sched.(*Scheduler).watch") || w.in("fiberlab/sched.(*Worker).waitForWork") {
		return false // the runtime's, a watchdog, or a worker that sleeps
	}
	place := w.program[0]
	switch {
	case strings.HasPrefix(place, "testing."):
		return !w.by("runtime.chanrecv") // it waits for a test
	case !hasPrefix(place, ownPackages):
		return !w.needsGoroutine()
	case w.in("fiberlab/sched/park.(*Goroutine).Park"):
		return w.in("fiberlab/sched/park.Until.Await") // it has a deadline, or a context
	case strings.HasPrefix(place, "fiberlab/sched/fibersync."):
		return !w.needsGoroutine() // it sleeps
	}
	return !w.parked() && !w.by("runtime.cgocall", "runtime.coroswitch") // a fiber that is suspended is in one of these
}
