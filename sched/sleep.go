package sched

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"fiberlab/fiber"
	"fiberlab/internal/clock"
	"fiberlab/internal/spinlock"
	"fiberlab/sched/park"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"
)

// eventcount is how a worker that has run out of work is told that there is some. Its owner alone prepares it, commits
// and sleeps; any thread may notify it.
//
// The order prevents lost wake-ups. A thread that brings work first puts it where the worker will find it, then
// notifies. The worker first prepares, then looks for work once more, and only then sleeps. So either it sees the work,
// or it has been notified since it prepared. While a worker is busy, to notify it costs a load.
//
// The worker prepares with a Swap, and a thread that stores what the worker looks for does so with one. On amd64 that
// is the instruction of a Store. On arm64 it keeps the order even in an emulator, qemu, which lets the load that
// follows pass a Store.
//
// The thread sleeps on a futex, futex(2), and not on a lock of the Go runtime: a goroutine that is locked to its
// thread, as a worker is, is woken by way of a second thread there, which takes several times as long.
type eventcount struct {
	countWord
	since atomic.Int64 // when it was notified while its owner slept, a clock.Instant

	blocker blocker // its owner sleeps in it; nil: on a futex
}

// countWord is what an eventcount holds: one of the constants below.
type countWord struct{ word atomic.Uint32 }

const (
	countNotified = iota // there may be work: the zero value
	countPrepared        // none was found; the owner looks for work once more, or spins
	countAsleep          // the owner sleeps, or is about to
	countWaking          // it did when it was notified, and it takes a while until it is awake
)

// Only the owner may call prepare, commit and work.

func (c *countWord) prepare()     { c.word.Swap(countPrepared) }
func (c *countWord) commit() bool { return c.word.CompareAndSwap(countPrepared, countAsleep) }
func (c *countWord) work()        { c.word.Store(countNotified) }

// tell says that there is work, and reports whether the owner was idle, and whether it was asleep and has to be woken.
// It is for drivers without countWaking; any thread may call it.
func (c *countWord) tell() (idle, asleep bool) {
	old := c.word.Swap(countNotified)
	return old != countNotified, old == countAsleep
}

func (c *countWord) notified() bool { return c.word.Load() == countNotified }
func (c *countWord) asleep() bool   { return c.word.Load() == countAsleep }

// longestWake is how long it may take a thread to wake before it counts as held up.
const longestWake = time.Millisecond

// waking reports whether the owner has slept and is just being woken.
func (e *eventcount) waking() bool {
	return e.word.Load() == countWaking && clock.Now()-clock.Instant(e.since.Load()) < clock.Instant(longestWake)
}

// notify tells the owner that there is work, and wakes it if it sleeps. It returns false
// if the owner is busy, or has been told already.
func (e *eventcount) notify() bool {
	for {
		switch e.word.Load() {
		case countPrepared:
			if e.word.CompareAndSwap(countPrepared, countNotified) {
				return true
			}
		case countAsleep:
			e.since.Store(int64(clock.Now()))
			if e.word.CompareAndSwap(countAsleep, countWaking) {
				if e.blocker != nil {
					e.blocker.Wake()
				} else {
					futexWakeOne(&e.word)
				}
				return true
			}
		default:
			return false
		}
	}
}

// stop is an ordinary notify: the worker finds that it is finished, and does not sleep again.
func (e *eventcount) stop() { e.notify() }

// sleep blocks the thread, which has committed, until it is notified, or until limit
// has passed; a negative limit is none. brief says that it is expected to be soon. It
// leaves the count notified, and reports whether it was before.
func (e *eventcount) sleep(limit time.Duration, brief bool) (woken bool) {
	// An early end, by a signal, is found by the caller, which looks for work anew.
	if e.blocker != nil {
		e.blocker.Wait(limit, brief)
	} else {
		futexSleep(&e.word, countAsleep, limit, brief)
	}
	woken = e.word.Load() != countAsleep
	e.work()
	return woken
}

// parker is a Fiber as package park sees it. What primitives wait by are no methods of Fiber, so that programs do not
// call them: park.Current takes the parker from the fiber.Fiber that it belongs to. To convert one pointer into the
// other costs nothing.
type parker Fiber

var _ park.Scheduled = (*parker)(nil)

// Park implements [park.Parker]. It panics with an error that wraps ErrNotSelf if p is not the caller.
func (p *parker) Park(deadline time.Time) {
	f := (*Fiber)(p)
	if !f.fiber.IsCurrent() {
		panic(f.misuse("park"))
	}
	until := clock.Never
	if !deadline.IsZero() {
		until = clock.At(deadline)
	}
	if f.token.Load() != 0 {
		f.token.Swap(0)
		f.awaits = nil
		return
	}
	if f.hook != nil && !f.hookTold {
		f.parkTold(deadline)
		return
	}
	f.block(until, parked)
	// An Unpark that found f not parked has left its token; a later Unpark finds it parked.
	if f.token.Swap(0) == 0 || !f.unblock() {
		f.suspend()
	}
	f.awaits = nil
}

// Unpark implements [park.Parker]. It leaves a fiber alone that is blocked in anything but Park.
func (p *parker) Unpark() {
	f := (*Fiber)(p)
	if f.wake(parked) {
		return
	}
	f.token.Swap(1)
	// f may have parked before it could see the token.
	f.wake(parked)
}

// Start implements [park.Parker]: it queues f as a task of the fiber's scheduler.
func (p *parker) Start(f func()) error { return p.maker.scheduler.Enqueue(Task{Func: f}) }

// StartNow implements [park.Parker].
func (p *parker) StartNow(f func()) error {
	s := p.maker.scheduler
	return s.enqueue(noRoom, &Task{Func: f}, s.worker(), anywhere)
}

// WaiterSlot implements [park.Parker].
func (p *parker) WaiterSlot() *any { return &p.spare }

// Yield implements [park.Scheduled]. It panics with an error that wraps ErrNotSelf if p is not the caller.
func (p *parker) Yield() {
	f := (*Fiber)(p)
	if !f.fiber.IsCurrent() {
		panic(f.misuse("yield"))
	}
	f.yield()
}

// LocalSlot implements [park.Scheduled]. The main fiber of a goroutine that is bound keeps its value until Unbind.
func (p *parker) LocalSlot() *any { return &p.local }

// Awaits implements [park.Scheduled].
func (p *parker) Awaits(what park.Awaited) { p.awaits = what }

// Shared implements [park.Scheduled].
func (p *parker) Shared() *park.Shared { return &p.maker.scheduler.shared }

// Arena implements [park.Scheduled].
func (p *parker) Arena() *park.Arena { return p.worker.Load().arena }

// Thread implements [park.Scheduled]: the worker that a fiber stays with stands for its thread.
func (p *parker) Thread() any {
	if p.home == nil {
		return park.AnyThread()
	}
	return p.home
}

// waitSlot is where one thread sleeps. It counts wakes, so none is lost: a wake that comes before the wait ends that
// wait at once. A count below 0 can only come of a second thread that waits; wake and wait panic then.
type waitSlot struct {
	count atomic.Uint32 // 1 at first; 0 while the owner sleeps; more: wakes that no wait has used up

	blocker blocker // the owner sleeps in it; nil: on a futex
}

func (s *waitSlot) init() { s.count.Store(1) }

// wake ends the owner's wait, or the next one. Any thread may call it; it does not block.
func (s *waitSlot) wake() {
	switch count := int32(s.count.Add(1)); {
	case count == 1:
		s.wakeOwner()
	case count < 1:
		s.misused(count)
	}
}

// misused reports that the count is wrong: wakes would be lost from now on.
func (s *waitSlot) misused(count int32) {
	panic(fmt.Sprintf("sched: the count of a wait slot is %d: more than one thread waits in it", count))
}

func (s *waitSlot) wakeOwner() {
	if s.blocker != nil {
		s.blocker.Wake()
	} else {
		futexWakeOne(&s.count)
	}
}

// persistentWake ends the owner's wait, and all later ones at once. Any thread may call it; it does not block.
func (s *waitSlot) persistentWake() {
	s.count.Store(persistent)
	s.wakeOwner()
}

// persistent is more than all waits of a slot use up.
const persistent = 1 << 30

// wait blocks the owner's thread until wake has been called once more than wait before, or until limit has passed; a
// negative limit is none. brief says that it is expected to be soon.
func (s *waitSlot) wait(limit time.Duration, brief bool) {
	switch count := int32(s.count.Add(^uint32(0))); {
	case count > 0:
		return
	case count < 0:
		s.misused(count)
	}
	if s.blocker != nil {
		s.blocker.Wait(limit, brief)
		s.count.CompareAndSwap(0, 1) // it may be that no thread has woken it
		return
	}
	until := clock.Never
	if limit >= 0 {
		until = clock.After(limit)
	}
	for {
		futexSleep(&s.count, 0, limit, brief)
		if s.count.Load() > 0 {
			return
		}
		// No thread has woken it: a signal has, or the time has passed.
		if until == clock.Never {
			continue
		}
		limit = time.Duration(until - clock.Now())
		// A wake may come at this very moment. Then the count is 1 already, and must not become 2.
		if limit <= 0 && s.count.CompareAndSwap(0, 1) {
			return
		}
		limit = max(limit, 0)
	}
}

// slotDriver is the driver of the workers of scheduling groups: the worker spins for a fixed time, and then sleeps in a
// wait slot. After a long sleep it only looks: what came late is likely to come late again, and with a task twice a
// millisecond spins would take a percent of a processor.
type slotDriver struct {
	_ [2]cpu.CacheLinePad // others write the word and the slot: 128 bytes from the rest, see masks
	countWord
	slot  waitSlot
	_     [2]cpu.CacheLinePad
	slept clock.Instant // for how long it slept last; 0: it has not
	serve func()        // does what falls to a worker that spins, see group.serve
}

// sleepIn implements sleeper.
func (d *slotDriver) sleepIn(b blocker) { d.slot.blocker = b }

func newSlotDriver() *slotDriver {
	d := new(slotDriver)
	d.slot.init()
	return d
}

// pausesPerPoll is how many pauses a spinning worker makes between two polls.
const pausesPerPoll = 16

func (d *slotDriver) spin(until clock.Instant, seek func() bool) {
	if d.slept >= longestSpin {
		seek()
		return
	}
	now := clock.Now()
	for end := min(now+clock.Instant(spinTime), until); !seek() && now < end; {
		for next := now + clock.Instant(lookTime); now < next; now = clock.Now() {
			if d.notified() || d.slot.blocker != nil && d.slot.blocker.Ready() {
				return
			}
			d.serve()
			for range pausesPerPoll {
				spinlock.Pause()
			}
		}
	}
}

func (d *slotDriver) sleep(limit time.Duration) {
	began := clock.Now()
	d.slot.wait(limit, d.slept > 0 && d.slept < longestSpin)
	d.slept = clock.Now() - began
	d.work()
}

func (d *slotDriver) notify() bool {
	idle, asleep := d.tell()
	if asleep {
		d.slot.wake()
	}
	return idle
}

func (d *slotDriver) stop() {
	d.word.Store(countNotified)
	d.slot.persistentWake()
}

// waking is false: under scheduling groups nothing waits for a worker in particular.
func (d *slotDriver) waking() bool { return false }

// untiedSleep is where a worker sleeps that need not keep its thread. The worker unties its main fiber and is parked as
// any goroutine is. So a goroutine that has brought it work, and waits then, leaves it its own thread and its P without
// a call to the kernel; a thread that sleeps on a futex has to be woken.
//
// The kernel's timers are finer than those of the Go runtime, which waits for whole milliseconds. So a worker that
// watches a deadline keeps its thread, and sleeps on a futex.
type untiedSleep struct {
	worker *Worker
	parker *park.Goroutine

	_    [2]cpu.CacheLinePad // others write it
	word atomic.Uint32       // one of the constants below
	_    [2]cpu.CacheLinePad
}

const (
	untiedAwake  = iota // the worker does not sleep
	untiedParked        // it does, or is about to, as a goroutine
	untiedAsleep        // it does, or is about to, on the word
	untiedWoken         // Wake has been called: the sleep that is under way, or the next one, ends
)

// untiesIdle reports whether the workers of s untie themselves from their threads before they sleep: fibers migrate, so
// no task that waits can count on its thread, and nothing asks for certain threads.
func (s *Scheduler) untiesIdle() bool {
	cfg := &s.cfg
	return cfg.Policy.migrates() && cfg.Backend != fiber.Goroutine &&
		!cfg.KeepThreads && cfg.Affinity == nil && cfg.Initializer == nil && cfg.OutOfDuty == nil && cfg.Device == nil
}

// newUntiedSleep has the driver of w sleep untied.
func newUntiedSleep(w *Worker) *untiedSleep {
	s := &untiedSleep{worker: w, parker: park.NewGoroutine()}
	w.driver.(sleeper).sleepIn(s)
	return s
}

// keepsIdle reports whether a fiber is idle, or can be made and kept, for what begins next. While the main fiber waits
// in the place of a blocked one, a fiber that is ready again is found by a worker that may have no idle one: it would
// make one first, in vain.
func (w *Worker) keepsIdle() bool {
	o := &w.local
	if w.scheduler.cfg.MaxIdle > 1 {
		w.makeAhead()
	}
	return len(o.idle) > 0 && o.idle[0] != o.main // that is among them if no other can be made
}

// mainWaits returns the main fiber if that is to wait for work in the place of f, the calling fiber: it alone can be
// untied. Otherwise it returns nil.
func (w *Worker) mainWaits(f *Fiber) *Fiber {
	o := &w.local
	if w.untied == nil || o.needsThread || f == o.main || o.main.load().state() != Idle || w.deadline() != clock.Never {
		return nil
	}
	if f.load().state() != Running && !w.keepsIdle() {
		return nil
	}
	w.removeIdle(o.main)
	return o.main
}

// Ready implements blocker.
func (s *untiedSleep) Ready() bool { return false }

// Wait implements blocker. The main fiber keeps its thread if it waits inside of a task, which it has when no fiber
// could be made for that: the task may have tied something to its goroutine and thread, such as a coroutine of
// iter.Pull.
func (s *untiedSleep) Wait(limit time.Duration, _ bool) {
	o := &s.worker.local
	if limit < 0 && !o.needsThread && o.current == o.main && o.main.load().state() == Running {
		s.park()
	} else {
		s.block(limit)
	}
	s.word.Swap(untiedAwake)
}

// park unties the main fiber, which calls it, and waits as a goroutine.
func (s *untiedSleep) park() {
	main := s.worker.local.main.fiber
	if err := main.Untie(); err != nil {
		panic(fmt.Sprintf("sched: %s cannot leave its thread: %v", s.worker.name, err))
	}
	if s.word.CompareAndSwap(untiedAwake, untiedParked) {
		s.parker.Park(time.Time{})
	}
	if err := main.Tie(); err != nil {
		panic(fmt.Sprintf("sched: %s cannot have a thread: %v", s.worker.name, err))
	}
}

// block sleeps on the thread, which is left as it was.
func (s *untiedSleep) block(limit time.Duration) {
	if !s.word.CompareAndSwap(untiedAwake, untiedAsleep) {
		return
	}
	if limit >= 0 {
		// If the kernel refuses, the worker wakes some 50 us late.
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, timerSlack, 0, 0, 0)
		defer func() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, defaultSlack, 0, 0, 0) }()
	}
	futexSleep(&s.word, untiedAsleep, limit, false)
}

// Wake implements blocker.
func (s *untiedSleep) Wake() {
	switch s.word.Swap(untiedWoken) {
	case untiedParked:
		s.parker.Unpark()
	case untiedAsleep:
		futexWakeOne(&s.word)
	}
}

// watch reports deadlocks to Config.Deadlocked, and stalls to Config.Stalled, until over is closed. Limit is how
// long nothing must happen. If certain is set, only deadlocks count that nothing else can end, as far as the watchdog
// sees.
func (s *Scheduler) watch(limit time.Duration, certain bool, over <-chan struct{}) {
	o := deadlockJudge{s: s, limit: clock.Instant(limit), certain: certain}
	stalls := stallJudge{s: s, limit: max(clock.Instant(limit), shortestStall)}
	var told survey
	for {
		v := s.survey(nil)
		again := time.Duration(-1)
		if v != told {
			var deadlock *Deadlock
			if deadlock, again = o.judge(v); deadlock != nil {
				told = v
				s.cfg.Deadlocked(deadlock)
			}
		}
		if stall := stalls.judge(); stall != nil {
			s.cfg.Stalled(stall)
		}
		if !pause(o.limit, again, over) {
			return
		}
	}
}

// reportDeadlock and reportStall write to stderr.
func reportDeadlock(d *Deadlock) { fmt.Fprintln(os.Stderr, d) }
func reportStall(s *Stall)       { fmt.Fprintln(os.Stderr, s) }

// watchUnbind reports a deadlock to w, a single-threaded worker that shuts down, until
// unbound is closed. A worker that has something to run after all is not disturbed.
func (w *Worker) watchUnbind(unbound <-chan struct{}) {
	o := deadlockJudge{s: w.scheduler, only: w, limit: clock.Instant(w.scheduler.cfg.GiveUpAfter)}
	for {
		v := o.s.survey(w)
		deadlock, again := o.judge(v)
		if deadlock != nil {
			w.giveUp(deadlock, o.seen)
		}
		if !pause(o.limit, again, unbound) {
			return
		}
	}
}

// giveUp makes Unbind return deadlock, unless the scheduler is no longer as it was then, or the worker
// finds something to run.
func (w *Worker) giveUp(deadlock *Deadlock, then survey) {
	if w.scheduler.survey(w) == then && w.shutdown.Load() {
		w.stuck.Swap(deadlock) // see eventcount
		w.driver.notify()
	}
}

// givesUp reports whether Unbind shall return a deadlock.
func (w *Worker) givesUp() bool { return w.stuck.Load() != nil && w.staysStuck() }

// staysStuck reports whether the worker has found nothing to run since it was told to give up. Otherwise it goes on.
func (w *Worker) staysStuck() bool {
	if w.hasLocal() {
		w.stuck.Store(nil)
		return false
	}
	return true
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
