package sched

import (
	"runtime"
	"slices"
	"strings"
)

// The watchdog asks two questions about the program's goroutines: may one of them still wake a fiber, and which are
// tasks in a call that blocks their thread? The runtime lists no reasons, but it shows stacks:
//
//	runtime.gopark                 the goroutine waits,
//	runtime.chanrecv               for a value from a channel,
//	main.main.func1                here: the place is the first function beyond the packages that implement the wait
//	fiberlab/sched.(*Fiber).execute   in a task
//
// A timer of package time, and a thread of C that has not called Go yet, are on no stack.

// mostGoroutines is how many goroutines the watchdog looks at. In a program that has more, it reports nothing that
// depends on them. Reading the stacks of 1,000 takes some 20 ms of a processor.
const mostGoroutines = 20_000

// goroutineStack is the innermost functions of a goroutine, as runtime.StackRecord has them.
type goroutineStack [32]uintptr

// goroutineStacks returns how many goroutines have each stack, or false if there are more than mostGoroutines. It
// stops the program for a moment.
func goroutineStacks() (map[goroutineStack]int, bool) {
	for n := runtime.NumGoroutine(); n <= mostGoroutines; {
		var ok bool
		records := make([]runtime.StackRecord, n+n/10+10)
		if n, ok = runtime.GoroutineProfile(records); !ok {
			continue // there are n by now
		}
		stacks := make(map[goroutineStack]int)
		for _, r := range records[:n] {
			stacks[r.Stack0]++
		}
		return stacks, true
	}
	return nil, false
}

// goroutineWait is what a stack says of a goroutine's wait.
type goroutineWait struct {
	library []string        // the functions that implement the wait, the innermost first
	program []runtime.Frame // the others; the first one is the place
}

// libraries are the packages whose functions implement waits of Go.
var libraries = []string{"runtime.", "runtime/", "sync.", "sync/", "internal/", "syscall.", "time.", "iter."}

// ownPackages are the packages by which goroutines wait as workers, fibers, or callers of a primitive.
var ownPackages = append([]string{"fiberlab/fiber.", "fiberlab/fiber/", "fiberlab/internal/"}, waitPackages...)

func hasPrefix(function string, packages []string) bool {
	return slices.ContainsFunc(packages, func(p string) bool { return strings.HasPrefix(function, p) })
}

// wait says what a goroutine of that stack waits for.
func (g goroutineStack) wait() (w goroutineWait) {
	n := slices.Index(g[:], 0)
	if n < 0 {
		n = len(g)
	}
	for walk, more := runtime.CallersFrames(g[:n]), n > 0; more; {
		var f runtime.Frame
		f, more = walk.Next()
		if len(w.program) == 0 && hasPrefix(f.Function, libraries) {
			w.library = append(w.library, f.Function)
		} else {
			w.program = append(w.program, f)
		}
	}
	return w
}

// by reports whether functions of these names implement the wait.
func (w goroutineWait) by(prefixes ...string) bool {
	return slices.ContainsFunc(w.library, func(f string) bool { return hasPrefix(f, prefixes) })
}

// in reports whether the goroutine is in a call of that function of the program.
func (w goroutineWait) in(function string) bool {
	return slices.ContainsFunc(w.program, func(f runtime.Frame) bool { return f.Function == function })
}

// parked reports whether the goroutine waits for Go to wake it.
func (w goroutineWait) parked() bool { return w.by("runtime.gopark") }

// needsGoroutine reports whether only another goroutine can end the wait. A receive and a select may also end by a
// timer.
func (w goroutineWait) needsGoroutine() bool {
	return w.parked() && w.by("runtime.chansend", "runtime.block", "sync.", "internal/sync.")
}

// mayWake reports whether the goroutine may come to wake a fiber, although no fiber and no other goroutine does
// anything. Workers that sleep are not asked: the survey knows them.
func (w goroutineWait) mayWake() bool {
	if len(w.program) == 0 || w.in("fiberlab/sched.(*Scheduler).watch") {
		return false // the runtime's own, or a watchdog
	}
	place := w.program[0].Function
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

// outsideMayWake reports whether another scheduler, or a goroutine that is none of the workers, may come to wake a fiber
// of s. All workers of s sleep. Another scheduler's fibers may have deadlines, and while they switch, the one that runs
// looks like one that is suspended.
func (s *Scheduler) outsideMayWake() bool {
	if workersTaken.Load()+workersBound.Load() > int64(len(s.everyWorker())) {
		return true
	}
	stacks, ok := goroutineStacks()
	if !ok {
		return true
	}
	for g := range stacks {
		if w := g.wait(); !w.in("fiberlab/sched.(*Worker).waitForWork") && w.mayWake() {
			return true
		}
	}
	return false
}

// blocksThread reports whether the goroutine is a task, or, if bound is true, the function of Run, that is in a call which
// blocks its thread. A call of C may compute: it does not count.
func (w goroutineWait) blocksThread(bound bool) bool {
	if len(w.program) == 0 || hasPrefix(w.program[0].Function, ownPackages) {
		return false
	}
	if !w.in("fiberlab/sched.(*Fiber).execute") && !(bound && w.in("fiberlab/sched.Run")) {
		return false
	}
	return w.parked() || w.by("syscall.", "internal/runtime/syscall.")
}

// remedy is what to do in a task in place of the call that blocks the thread.
func (w goroutineWait) remedy() string {
	instead := ""
	switch {
	case w.by("runtime.chan"):
		instead = "use a fibersync.Channel, or "
	case w.by("runtime.selectgo"):
		instead = "use fibersync.Select, or "
	case w.by("time.Sleep"):
		instead = "use fibersync.Sleep, or "
	case w.by("sync.", "internal/sync."):
		instead = "use the primitive of this name in package fibersync, or "
	}
	return instead + "make the call by fibersync.BlockingCall"
}
