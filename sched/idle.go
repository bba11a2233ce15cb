package sched

import (
	"runtime"
	"time"

	"fiberlab/fiber"
	"fiberlab/internal/clock"
	"fiberlab/internal/idle"
	"fiberlab/internal/thread"
)

// waitForWork returns when there is something to run, or when the worker is to end. f is the calling fiber, which may
// be a blocked one: the fiber that found nothing left to run does the waiting.
//
// The caller must not poll before it takes what was found. A poll might bring a fiber, unknown to policy.found, that
// the worker runs first. Then what the worker was woken for might wait while other workers sleep.
//
// If mayDelay is true, the worker lets others bring work for a moment, while its word still says that it is busy. If it
// finds nothing then, its word says that it looks, and it looks. Package idle says why no wake-up is lost then.
func (w *Worker) waitForWork(f *Fiber) {
	w.mustRunCaller("waitForWork")
	w.dry.add(1)
	w.places.Look()
	w.reap()
	w.idleTime.start()
	if w.mayDelay() && w.word.Delay() && w.hasWork(f) {
		w.idleTime.stop()
		return
	}
	for first := true; ; first = false {
		w.local.looking = true // again, if another worker has taken what this one has brought; see migration.ready
		w.word.Look()
		if w.hasWork(f) || w.ends() {
			break
		}
		if first && w.mode == multiThreaded && !w.short() && w.peers.BeginSpin(w.number) {
			w.spin()
		} else {
			w.local.spun = false // what it was claimed for as it spun is gone
			w.sleep(f)
		}
	}
	w.local.looking = false
	w.word.Work()
	w.idleTime.stop()
	if w.mode == multiThreaded {
		w.scheduler.policy.found(w)
		w.local.spun = false
	}
}

// mayDelay reports whether the worker may call Word.Delay. What only this worker runs must be run without delay.
func (w *Worker) mayDelay() bool {
	return w.mode == multiThreaded && !w.short() && !w.hasLocal() && w.peers.MayDelay()
}

// spin is Word.Spin for a worker whose BeginSpin has returned true. It ends with EndSpin.
func (w *Worker) spin() {
	w.local.spun = true
	defer w.peers.EndSpin(w.number)
	if w.record != nil {
		w.recordEvent(Event{Kind: KindSpinBegan})
		defer w.recordEvent(Event{Kind: KindSpinEnded})
	}
	w.word.Spin(w.timers.next(), w.seek)
}

// hasWork polls. It reports whether the worker has something to run, or f, the calling fiber, has been notified.
func (w *Worker) hasWork(f *Fiber) bool {
	w.poll()
	return w.canRun() || f.load()&notified != 0
}

// sleep first looks for work once more, if others may bring it. If there is none, it blocks the worker until a
// notification or the earliest deadline comes. It may return for no reason. The worker's word must be looking.
func (w *Worker) sleep(f *Fiber) {
	if f.load().state() == Running {
		f.task.End() // no task waits on this fiber
	}
	if w.mode != multiThreaded || w.short() && !w.canBegin() {
		w.sleepUntilDeadline() // others bring it no tasks
		return
	}
	w.peers.BeginSleep(w.number)
	// The last look: work may have come before other workers could see that this one sleeps.
	found := w.scheduler.policy.seek(w, true)
	if !found {
		w.sleepUntilDeadline()
	}
	w.endSleep(found)
}

// endSleep takes the worker out of those that sleep. found says that its last look has found something. If it has, and
// a submitter has claimed the worker, perhaps for something else, endSleep wakes another worker.
func (w *Worker) endSleep(found bool) {
	if claimed := w.peers.EndSleep(w.number); claimed && found {
		w.scheduler.policy.wakeOther(w)
	}
}

// sleepUntilDeadline blocks the worker, unless it has been notified since its word says that it looks. It wakes up when
// it is notified, when the earliest deadline has come, or when it shall look again for tasks that it has skipped or
// could not begin. Only the worker calls it.
//
// A look at skipped tasks need not be on time, so the worker may leave its thread until then. The skipped worker may be
// a goroutine that is to run on just that thread.
func (w *Worker) sleepUntilDeadline() {
	until := w.timers.watch(w)
	if w.short() {
		until = min(until, w.local.retry) // no thread wakes it for what the policy has, or for memory
	}
	way := w.wayToSleep(until)
	if w.local.skipped {
		until = min(until, clock.After(idle.LongestWake))
	}
	if !w.word.Commit(way) {
		return
	}
	if w.scheduler.listening.Load() {
		w.scheduler.signalClose()
	}
	limit := time.Duration(-1) // none
	if until != clock.Never {
		limit = max(time.Duration(until-clock.Now()), 0)
	}
	w.block(way, limit)
	w.sleeps.add(1)
}

// wayToSleep returns how the worker is to sleep now, until then at most. The first case that holds decides:
//
//  1. The worker has a device. It sleeps there.
//  2. It has no thread to itself. It parks as any goroutine does.
//  3. Something may count on its thread, its sleep has a deadline, or another fiber than its main fiber waits. Or
//     neither of the last two threads that woke it could run it. It keeps its thread, and sleeps on it.
//  4. Otherwise it leaves its thread to other goroutines, and parks as one of them.
//
// A goroutine that wakes another one wakes no thread: the other one runs on the same thread as soon as the first one
// waits. So parking saves the waker a call to the kernel, and the worker the time until a halted processor runs. But a
// thread that goes on with something else cannot run the worker: it would have to wake a third thread for that. Threads
// of C, of goroutines locked to them, and of busy workers go on like this. A worker expects its next wakers to be like
// the last two.
//
// If two workers that wake each other kept their threads, the kernel would have to choose a processor for each. It may
// wake a thread where another worker computes, and leave it there for some ms while the other processor is idle.
//
// The timers of the kernel are finer than the runtime's, which waits for whole milliseconds.
func (w *Worker) wayToSleep(until clock.Instant) idle.Way {
	o := &w.local
	switch {
	case o.device != nil:
		return idle.InDevice
	case !w.threaded:
		return idle.AsGoroutine
	case until == clock.Never && w.mayLeaveThread() && o.current == o.main && o.main.load().state() == Running:
		return idle.AsGoroutine
	}
	return idle.OnThread
}

// keepsThread reports whether the worker has one thread for all its life. A bound goroutine has. If hasThread is true,
// another worker has one too, on the goroutine backend or if Config asks for it; see Config.KeepThreads.
func (w *Worker) keepsThread() bool {
	cfg := &w.scheduler.cfg
	return w.mode == singleThreaded || w.threaded && (cfg.Backend == fiber.Goroutine || cfg.KeepThreads ||
		cfg.Affinity != nil || cfg.Initializer != nil || cfg.Device != nil)
}

// hasThread reports whether the worker is locked to a thread while it runs fibers. On the goroutine backend, roots that
// exchange fibers must not be locked. So there, a multi-threaded worker is not locked if fibers may migrate.
func (w *Worker) hasThread() bool {
	cfg := &w.scheduler.cfg
	return w.mode == singleThreaded || !cfg.Policy.migrates() || cfg.Backend != fiber.Goroutine
}

// mayLeaveThread reports whether the worker needs no thread of its own, and not both of the last two threads that woke
// it went on with something else. Only the worker calls it.
func (w *Worker) mayLeaveThread() bool { return !w.needsThread() && !w.word.WokenByThread() }

// needsThread reports whether something counts on the worker's thread: it keeps the thread, or has had a SameThread
// task. If fibers stay with their worker, a task that is blocked may count on it too.
func (w *Worker) needsThread() bool {
	return w.keeps || w.local.sameThread || !w.sharesFibers() && w.blocked.load() != 0
}

// waker is the argument of idle.New: it says whether the thread that calls Notify could run the woken worker next.
func waker() *idle.Word {
	if f := Current(); f != nil {
		if w := f.worker.Load(); !w.needsThread() {
			return w.word
		}
	}
	if fiber.Locked() {
		return idle.Locked
	}
	return nil
}

// mainWaits returns the main fiber if that waits for work in place of f, the calling fiber; else nil. The worker can
// leave its thread only while its main fiber waits. So that must be Idle, mayLeaveThread true, and no deadline be set.
func (w *Worker) mainWaits(f *Fiber) *Fiber {
	o := &w.local
	if f == o.main || o.main.load().state() != Idle || w.timers.next() != clock.Never || !w.mayLeaveThread() {
		return nil
	}
	return o.main
}

// block is Word.Sleep after Commit(way). It unlocks the worker from a thread that it leaves, and locks it again.
//
// A worker that sleeps until a deadline gives its P up, unless it expects to be woken soon. If no other P is in use and
// no thread waits in the runtime's poller, the runtime starts one to poll: handoffp in runtime/proc.go. Then the worker
// wakes some 10 us later. A thread waits there while a timer is pending. So block sets one.
func (w *Worker) block(way idle.Way, limit time.Duration) {
	switch {
	case way == idle.AsGoroutine && w.threaded:
		main := w.local.main.fiber
		runtime.UnlockOSThread() // what thread has done
		must(main.Untie())
		w.word.Sleep(limit)
		runtime.LockOSThread()
		must(main.Tie())
	case way == idle.OnThread && limit >= 0 && !w.keeps:
		w.local.polling.Reset(pollingTime)
		// If the kernel refuses, the worker wakes some 50 us late.
		_ = thread.SetTimerSlack(timerSlack)
		w.word.Sleep(limit)
		_ = thread.SetTimerSlack(0)
	default:
		w.word.Sleep(limit)
	}
}

// mostSpinning is how many workers of each 64 may spin at once: one, or two if GOMAXPROCS is 4 or more. So up to 64
// workers leave at least half of several processors to those that have work.
func mostSpinning() int { return min(max(runtime.GOMAXPROCS(0)/2, 1), 2) }

// newIdleSet makes the idle.Set of these workers, and sets peers and number of each. It must be called before they run.
// spinners is how many of each 64 workers may spin at once.
func newIdleSet(workers []*Worker, spinners int) *idle.Set {
	words := make([]*idle.Word, len(workers))
	var woken func(i int, asleep bool)
	for i, w := range workers {
		words[i] = w.word
		if w.record != nil {
			woken = func(i int, asleep bool) { workers[i].recordWoken(asleep) }
		}
	}
	set := idle.NewSet(words, spinners, woken)
	for i, w := range workers {
		w.peers, w.number = set, i
	}
	return set
}
