package sched

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"fiberlab/fiber"
	"fiberlab/internal/clock"
	"fiberlab/internal/goroutine"
)

// Bind makes the calling goroutine a single-threaded worker of s: it may then wait
// as a fiber does, and while it waits its thread runs other fibers, and those tasks that
// are its own. The goroutine is locked to its thread until Unbind, which it must
// call before it ends.
//
// Bind returns ErrBound, ErrClosed, ErrNotBound if New has not made s, ErrBubble in a bubble of testing/synctest, or
// an error of fiber.Attach.
func (s *Scheduler) Bind() error {
	if !s.exists() {
		return fmt.Errorf("sched: bind: %w", ErrNotBound)
	}
	if f := Current(); f != nil && !f.isBoundGoroutine() {
		return fmt.Errorf("sched: bind %s in a task of %s: %w", s.cfg.Name, f.maker.scheduler.cfg.Name, errBindInTask)
	} else if f != nil {
		return fmt.Errorf("sched: bind %s, where %s is: %w", s.cfg.Name, f.maker.scheduler.cfg.Name, ErrBound)
	}
	if goroutine.InBubble() {
		return fmt.Errorf("sched: bind %s: %w", s.cfg.Name, ErrBubble)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		return fmt.Errorf("sched: bind %s: %w", s.cfg.Name, ErrClosed)
	}
	runtime.LockOSThread()
	root, err := fiber.Attach(s.cfg.Backend)
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("sched: bind %s: %w", s.cfg.Name, err)
	}
	w := newWorker(s, s.numbers, singleThreaded)
	w.arena = s.arenaOf(w)
	w.goroutine = goroutine.Name()
	s.numbers++
	w.begin(root)
	s.bound[w] = struct{}{}
	workersBound.Add(1)
	return nil
}

// workersBound is how many goroutines of the program are bound, to all schedulers.
var workersBound atomic.Int64

// isBoundGoroutine reports whether f is a goroutine that is bound, and not a fiber that runs tasks.
func (f *Fiber) isBoundGoroutine() bool {
	return f.maker.mode == singleThreaded && f == f.maker.local.main
}

// boundJudge finds goroutines that have ended while they were bound. To ask costs time, so it asks ever more seldom.
type boundJudge struct {
	s     *Scheduler
	asked clock.Instant // the last time
	again time.Duration // how long after that it asks next; 0: it has not been called with a goroutine that is bound
}

// judge returns ErrNotUnbound if a goroutine that is bound does not exist any more.
func (o *boundJudge) judge() error {
	o.s.mu.Lock()
	bound := slices.Collect(maps.Keys(o.s.bound))
	o.s.mu.Unlock()
	now := clock.Now()
	switch {
	case len(bound) == 0:
		o.again = 0
		return nil
	case o.again == 0:
		o.asked, o.again = now, DefaultGiveUpAfter
		return nil
	case time.Duration(now-o.asked) < o.again:
		return nil
	}
	o.asked, o.again = now, 2*o.again
	names, ok := goroutine.All(mostAsked)
	for _, w := range bound {
		if ok && !names[w.goroutine] && o.s.isBound(w) {
			return fmt.Errorf("sched: close %s: %s, which was %s: %w", o.s.cfg.Name, w.goroutine, w.name, ErrNotUnbound)
		}
	}
	return nil
}

// mostAsked is in how many goroutines a boundJudge looks for one. The runtime stops the program for as long as it
// writes their stacks.
const mostAsked = 1000

// isBound reports whether w is the worker of a goroutine that is bound.
func (s *Scheduler) isBound(w *Worker) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, bound := s.bound[w]
	return bound
}

// Unbind makes the calling goroutine a plain one again. It first runs what its
// worker has left to do: tasks that no other worker may run, and fibers that are blocked,
// until all have ended.
//
// It returns ErrNotBound, ErrInTask, or a *Deadlock if fibers of its worker are blocked, and
// for Config.GiveUpAfter nothing has happened in the whole scheduler; see [Scheduler.Close]. The
// scheduler is still bound then, and Unbind may be called again.
func Unbind() error {
	f := Current()
	switch {
	case f == nil:
		return fmt.Errorf("sched: unbind: %w", ErrNotBound)
	case !f.isBoundGoroutine() || f.maker.shutdown.Load():
		return fmt.Errorf("sched: unbind of %s: %w", f.maker.scheduler.cfg.Name, ErrInTask)
	}
	w, s := f.maker, f.maker.scheduler
	if deadlock := w.stop(); deadlock != nil {
		return deadlock
	}
	if err := w.detach(); err != nil {
		return fmt.Errorf("sched: unbind of %s: %w", s.cfg.Name, err)
	}
	runtime.UnlockOSThread()
	s.mu.Lock()
	delete(s.bound, w)
	s.keepCounts(w)
	workersBound.Add(-1)
	s.mu.Unlock()
	if w.record != nil {
		w.record.Unbound()
	}
	s.tell()
	return nil
}

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

// outsideMayWake reports whether another scheduler, or a goroutine that is none of the workers, may come to wake a
// fiber of s. All workers of s sleep. Another scheduler's fibers may have deadlines, and while they switch, the one
// that runs looks like one that is suspended.
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

// blocksThread reports whether the goroutine is a task, or, if bound is true, the function of Run, that is in a call
// which blocks its thread. A call of C may compute: it does not count.
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
