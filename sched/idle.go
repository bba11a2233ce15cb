package sched

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"fiberlab/internal/clock"
	"fiberlab/internal/spinlock"
	"fiberlab/sched/park"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"
)

// waitForWork returns when there is something to run, or when the worker is to end. f is the calling fiber, which may
// be a blocked one: the fiber that found nothing left to run does the waiting. The worker then
// waits as its driver does.
//
// The caller must not poll before it takes what was found: policy.found has to know all that the worker could run
// first, or something else that it was woken for might wait while other workers sleep.
//
// Prevents lost wake-ups: the worker prepares its driver, then looks for work, and only then sleeps; others put work
// where the worker looks, and then notify the driver.
func (w *Worker) waitForWork(f *Fiber) {
	w.mustRunCaller("waitForWork")
	w.rests.add(1)
	w.places.Look()
	w.reap()
	w.times.rest()
	w.local.looking = true
	for first := true; ; first = false {
		w.driver.prepare()
		if w.hasWork(f) || w.finished() || w.givesUp() {
			break
		}
		if first && w.mayBegin() && w.scheduler.policy.beginSpin(w) {
			w.record.spin(true)
			w.driver.spin(w.deadline(), w.seek)
			w.record.spin(false)
			w.scheduler.policy.endSpin(w)
		} else if check := w.check.Load(); check != nil {
			w.answer(f, check)
		} else {
			w.sleep(f)
		}
	}
	w.local.looking = false
	w.driver.work()
	w.times.work()
	if w.mode == multiThreaded {
		w.scheduler.policy.found(w)
	}
}

// hasWork reports whether there is anything to run in the place of f, the calling fiber, or whether f may go on.
func (w *Worker) hasWork(f *Fiber) bool {
	w.poll()
	return w.hasLocal() || w.hasTask() || f.load()&notified != 0
}

// deadline is when the worker has to poll again although nothing has notified it.
func (w *Worker) deadline() clock.Instant { return min(w.local.timers.next(), w.timers.next()) }

// sleep blocks the thread until the driver is notified or the earliest deadline has come. It may also return for no
// reason. The driver must be prepared.
func (w *Worker) sleep(f *Fiber) {
	if f.load().state() == Running {
		f.task.End() // no task waits on this fiber
	}
	policy, open := w.scheduler.policy, w.mayBegin() || w.recovers()
	if open {
		policy.beginSleep(w)
		defer policy.endSleep(w)
	}
	// The last look: work may have come before other workers could see that this one sleeps.
	if open && policy.seek(w, true) {
		return
	}
	w.timers.watch(w)
	until := w.deadline()
	if open {
		until = min(until, policy.lookAgain(w))
	}
	w.nextDeadline.Store(int64(until))
	if !open && w.mode == multiThreaded {
		until = min(until, clock.After(retryPause)) // no thread wakes it for what the policy has
	}
	if !w.driver.commit() {
		return
	}
	w.scheduler.tell()
	limit := time.Duration(-1) // none
	if until != clock.Never {
		limit = max(time.Duration(until-clock.Now()), 0)
	}
	w.driver.sleep(limit)
	w.sleeps.add(1)
}

// mostSpinning is how many workers may spin at once, on however many processors.
const mostSpinning = 8

// spinning has the numbers of the workers that spin.
type spinning struct {
	slots []atomic.Int64 // as many as may spin at once; each holds the number of a worker plus one, or 0
	next  atomic.Uint32
}

// newSpinning leaves half of the processors to the workers that have work.
func newSpinning() spinning {
	return spinning{slots: make([]atomic.Int64, min(max(runtime.GOMAXPROCS(0)/2, 1), mostSpinning))}
}

// enter puts a worker into a slot that is free, or whose worker has been notified and is about to leave it. It
// reports whether there was one. Two workers that wake each other in turn would otherwise find the slot taken each
// time.
func (s *spinning) enter(worker int, notified func(worker int) bool) bool {
	for i := range s.slots {
		before := s.slots[i].Load()
		if (before == 0 || notified(int(before-1))) && s.slots[i].CompareAndSwap(before, int64(worker+1)) {
			return true
		}
	}
	return false
}

// leave takes the worker out of its slot, if no other thread has taken it.
func (s *spinning) leave(worker int) {
	for i := range s.slots {
		if s.slots[i].CompareAndSwap(int64(worker+1), 0) {
			return
		}
	}
}

// take takes a worker out, and returns its number, or -1 if none spins. It goes
// round, so that tasks are spread over all that spin.
func (s *spinning) take() int {
	for i := range s.slots {
		at := i
		if len(s.slots) > 1 {
			at = int(s.next.Load()+uint32(i)) % len(s.slots)
		}
		if s.slots[at].Load() == 0 {
			continue
		}
		if worker := s.slots[at].Swap(0); worker != 0 {
			if len(s.slots) > 1 {
				s.next.Add(1)
			}
			return int(worker - 1)
		}
	}
	return -1
}

// driver is how an idle worker waits and is woken. Each worker has one. The policy decides which worker to
// wake; the driver, how.
//
// A worker that has found nothing to run calls prepare, looks for work once more, calls commit and then sleep. Another
// thread first puts work where the worker will look, and then calls notify. So either the worker sees the work, or
// commit finds that it was notified.
type driver interface {
	// prepare says that the worker has found nothing: a notify from now on is kept.
	prepare()
	// spin waits awake: until notify has been called, seek has returned true, the time has come, or it
	// does not pay any more. seek is called now and then. The driver must be prepared.
	spin(until clock.Instant, seek func() bool)
	// commit says that the worker is about to sleep. It returns false if notify has been called
	// since prepare.
	commit() bool
	// sleep blocks the thread, after commit, until notify is called or limit has passed; a limit below 0
	// is none. It may also return for no reason.
	sleep(limit time.Duration)
	// work says that the worker has found something to run: notify has nothing to do.
	work()

	// Any thread may call the following; none of them blocks.

	// notify tells the worker to look for work, and wakes it if it sleeps. It returns false if the worker is busy, or
	// has been told already.
	notify() bool
	// stop is notify for the last time: everything has ended, and the worker need not sleep any more.
	stop()
	// notified reports whether the worker is busy, or has been told to look for work.
	notified() bool
	// asleep reports whether the worker sleeps, or is about to, and has not been notified.
	asleep() bool
	// waking reports whether the worker has slept and is just being woken.
	waking() bool
}

// newDriver makes the driver of a worker that is locked to its thread, or is not.
func newDriver(p Policy, mode mode, locked bool) driver {
	switch {
	case !locked:
		return newGoroutineDriver()
	case p == Group && mode == multiThreaded:
		return newSlotDriver()
	}
	return newFutexDriver()
}

// futexDriver is the first driver: the worker spins as long as that pays, and then sleeps on a
// futex.
type futexDriver struct {
	_ [2]cpu.CacheLinePad // others write the eventcount: 128 bytes from the rest, see masks
	eventcount
	_      [2]cpu.CacheLinePad
	budget spinBudget

	yieldFirst bool // the last spin found work as soon as it had yielded, to another thread
}

func newFutexDriver() *futexDriver { return new(futexDriver) }

// sleepIn implements sleeper.
func (d *futexDriver) sleepIn(b blocker) { d.blocker = b }

func (d *futexDriver) sleep(limit time.Duration) {
	began := clock.Now()
	if woken := d.eventcount.sleep(limit, d.budget.brief); woken || d.blocker == nil {
		d.budget.slept(clock.Now() - began)
	}
}

// A spin saves the worker that brings work a system call, and this one many microseconds until it is awake. But a spin
// that finds nothing is lost, so each worker spins no longer than has paid lately, and not at all between tasks that
// are far apart.
const (
	longestSpin  = clock.Instant(50 * time.Microsecond)
	shortestSpin = clock.Instant(2 * time.Microsecond)
)

// spinBudget is how long a worker may spin, next time. The zero value says not at all.
type spinBudget struct {
	limit clock.Instant // from shortestSpin to longestSpin, or 0
	brief bool          // its last sleep was so short that a spin would have found the work
}

// found says that a spin found work after that time.
func (b *spinBudget) found(after clock.Instant) { b.limit = min(max(b.limit, 4*after), longestSpin) }

// wasted says that a spin found nothing.
func (b *spinBudget) wasted() {
	if b.limit /= 2; b.limit < shortestSpin {
		b.limit = 0
	}
}

// slept says that the worker slept for that time. Two brief sleeps in a row make it spin: a single one does not
// tell that more work is to come soon.
func (b *spinBudget) slept(d clock.Instant) {
	again := b.brief
	b.brief = d < longestSpin
	if again && b.brief {
		b.limit = max(b.limit, min(2*d, longestSpin), shortestSpin)
	}
}

// pollsPerSeek is how often a spinning worker polls its eventcount between two calls of seek and of the clock.
const pollsPerSeek = 64

// shortestGap is how long a yield takes at least if another thread has run meanwhile.
const shortestGap = clock.Instant(time.Microsecond)

// spin yields the processor now and then: the thread that is to bring work may wait for it. Where that was so the last
// time, it yields after a single poll. What a device brings ends a spin, but does not make spins pay: a device is best
// left to gather more.
func (d *futexDriver) spin(until clock.Instant, seek func() bool) {
	if seek() || d.budget.limit == 0 {
		return
	}
	began := clock.Now()
	end := min(began+d.budget.limit, until)
	polls := pollsPerSeek
	if d.yieldFirst {
		polls = 1
	}
	d.yieldFirst = false
	for yielded := clock.Never; ; { // when it last yielded
		for i := range polls {
			if d.blocker != nil && d.blocker.Ready() {
				d.budget.wasted()
				return
			}
			if d.notified() {
				now := clock.Now()
				d.yieldFirst = i == 0 && now-yielded >= shortestGap
				d.budget.found(now - began)
				return
			}
			spinlock.Pause()
		}
		if seek() {
			d.budget.found(clock.Now() - began)
			return
		}
		if yielded = clock.Now(); yielded >= end {
			d.budget.wasted()
			return
		}
		_, _, _ = unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
		polls = pollsPerSeek
	}
}

// The operations of futex(2), on words that only this process uses.
const (
	futexWait    = 0 | futexPrivate // FUTEX_WAIT with a relative timeout, by the monotonic clock
	futexWake    = 1 | futexPrivate
	futexPrivate = 128
)

// futexSleep blocks the calling thread while word holds value, until futexWakeOne is called
// for it or limit has passed; a negative limit is none. It may also return for no reason.
// brief says that it will not be for long.
//
// An ordinary system call, right for a brief sleep, leaves its P, the right to run Go code,
// where it was, and the runtime's monitor fetches it if it takes long. As long as the monitor
// finds any to fetch it polls many thousand times a second, and a worker that is fed
// now and then keeps it at that. So a long sleep gives its P up: that is idle at once, and
// once all are the monitor sleeps too. But giving up may wake a thread to take it over.
func futexSleep(word *atomic.Uint32, value uint32, limit time.Duration, brief bool) {
	var timeout *unix.Timespec
	if limit >= 0 {
		t := unix.NsecToTimespec(int64(limit))
		timeout = &t
	}
	if !brief {
		sleepWithoutP(word, value, timeout)
		return
	}
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(value),
		uintptr(unsafe.Pointer(timeout)), 0, 0)
}

// futexWakeOne wakes one thread that sleeps on word. It does not block, so the runtime need not
// know of the system call.
func futexWakeOne(word *atomic.Uint32) {
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, 1, 0, 0, 0)
}

// sleepWithoutP gives the P up, makes the system call and gets a P back. The stack must not
// grow meanwhile.
//
//go:nosplit
//go:norace
func sleepWithoutP(word *atomic.Uint32, value uint32, timeout *unix.Timespec) {
	entersyscallblock()
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(value),
		uintptr(unsafe.Pointer(timeout)), 0, 0)
	exitsyscall()
}

// Both are kept stable for other programs by the runtime, see go.dev/issue/67401.

// entersyscallblock gives the calling thread's P up.
//
//go:linkname entersyscallblock runtime.entersyscallblock
func entersyscallblock()

// exitsyscall gets one back. It must be called by the function that called
// entersyscallblock, and may wait until there is one.
//
//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()

// goroutineDriver is the driver of workers that are not locked to a thread: it parks the worker as any goroutine is
// parked, so that its thread goes on with other goroutines.
type goroutineDriver struct {
	countWord // never countWaking
	parker    *park.Goroutine
}

func newGoroutineDriver() *goroutineDriver {
	return &goroutineDriver{parker: park.NewGoroutine()}
}

// waking is false: a goroutine that is woken is as good as awake.
func (d *goroutineDriver) waking() bool { return false }

// spin seeks once: to wake a goroutine costs less than to spin.
func (d *goroutineDriver) spin(_ clock.Instant, seek func() bool) { seek() }

func (d *goroutineDriver) notify() bool {
	idle, asleep := d.tell()
	if asleep {
		d.parker.Unpark()
	}
	return idle
}

func (d *goroutineDriver) stop() { d.notify() }

func (d *goroutineDriver) sleep(limit time.Duration) {
	var deadline time.Time
	if limit >= 0 {
		deadline = time.Now().Add(limit)
	}
	d.parker.Park(deadline)
	d.work()
}
