package sched

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"fiberlab/fiber"
	"fiberlab/internal/clock"
	"fiberlab/internal/debug"
	"fiberlab/internal/idle"
	"fiberlab/internal/queue"
	"fiberlab/internal/thread"
	"fiberlab/sched/park"

	"golang.org/x/sys/cpu"
)

// mode says whose thread a worker runs on.
type mode uint8

const (
	// multiThreaded workers run on goroutines that New starts. hasThread says which are locked to their threads.
	multiThreaded mode = iota
	// singleThreaded workers borrow the thread of the goroutine that called Bind. They run tasks only while that
	// goroutine waits, yields or unbinds.
	singleThreaded
)

// Worker runs tasks, on one thread and one fiber at a time: when a task blocks, its fiber keeps it, and another fiber
// takes over the worker's loop. Config.KeepThreads says when a worker leaves its thread.
type Worker struct {
	id        int
	name      string
	mode      mode
	cpus      []int // that its thread is restricted to, if there is a Config.Affinity
	scheduler *Scheduler
	record    WorkerRecorder // of what its fibers do; nil: off
	word      *idle.Word
	peers     *idle.Set     // in which a multi-threaded worker is found while it is idle
	number    int           // of the worker in that set
	keeps     bool          // keepsThread
	threaded  bool          // hasThread
	timers    *timers       // in which its fibers wait
	arena     *park.Arena   // where tasks of its fibers start others
	seek      func() bool   // the policy's seek, while the worker spins
	done      chan struct{} // closed when a multi-threaded worker's thread is through

	_ [2]cpu.CacheLinePad
	// where other threads leave ready fibers, and tasks, that no other worker may run
	mailbox queue.Mailbox[runnable]
	// how many tasks are in the mailbox, are about to be put there, or are being taken out
	mailed atomic.Int64
	// Fiber.self of the fiber that the worker runs. It changes before that fiber may run elsewhere: see runsCaller
	running atomic.Uint64
	_       [2]cpu.CacheLinePad

	local local // for the worker's thread alone
	counts

	device atomic.Pointer[Device] // what Config.Device has made, for others

	// Others write these.
	shutdown atomic.Bool // run until there is nothing left, then end
	stuck    atomic.Pointer[Deadlock]
}

// exists reports whether the worker is a scheduler's.
func (w *Worker) exists() bool { return w != nil && w.scheduler != nil }

// ID returns the worker's number: multi-threaded ones from 0, bound goroutines after them; -1 if w is none of a
// scheduler's.
func (w *Worker) ID() int {
	if !w.exists() {
		return -1
	}
	return w.id
}

// String names the worker and its scheduler.
func (w *Worker) String() string {
	if !w.exists() {
		return "no worker"
	}
	return w.name
}

// Group returns the number of the worker's scheduling group: from 0, in the order of the workers. It is -1 if a
// goroutine is bound as the worker, and for a worker that belongs to no scheduler.
func (w *Worker) Group() int {
	if !w.exists() || w.mode != multiThreaded {
		return -1
	}
	if p, ok := w.scheduler.policy.(*groups); ok {
		return p.members[w.id].group.number
	}
	return 0
}

// local belongs to a worker's thread, and has no lock: other threads leave messages in the mailbox. Methods that use it
// are for that thread, even if their comments do not say so. No other worker may run what is in ready and tasks: fibers
// whose home is this worker, SameThread tasks, tasks of EnqueueOn, and tasks for a bound goroutine.
type local struct {
	ready     queue.Queue[*Fiber]   // Queued
	tasks     queue.Queue[runnable] // not begun
	idle      []*Fiber              // Idle; used last in, first out
	ended     []*fiber.Fiber        // to be closed; see reap
	resumed   int                   // fibers of ready resumed in a row; 0 again when a task begins or none is there
	looking   bool                  // the worker looks for something to run, and has found nothing
	spun      bool                  // it has spun since it last had work
	skipped   bool                  // the policy's seek has left tasks to a worker that was just being woken
	localNext bool                  // a local task goes before what the policy has
	told      bool                  // Config.Exhausted knows of the present shortage of fibers

	main    *Fiber // the fiber that the thread began with
	current *Fiber // the fiber that it runs, or is to run next
	left    *Fiber // has just been left, and is to be published by the fiber that was entered

	device Device // nil: none
	round  int    // calls of pollDevice until it is polled

	retry      clock.Instant // if not 0, the worker is short: it could make no fiber, and does not try before then
	sameThread bool          // it has had a SameThread task, which may count on the thread; see Worker.needsThread
	polling    *time.Timer   // while it is pending, a thread of the runtime waits in the poller; see block
}

// newWorker makes a worker, without its thread.
func newWorker(s *Scheduler, id int, mode mode) *Worker {
	w := &Worker{
		id:        id,
		name:      fmt.Sprintf("%s worker %d", s.cfg.Name, id),
		mode:      mode,
		scheduler: s,
		word:      idle.New(waker),
		timers:    newTimers(nil),
		arena:     s.arena,
		done:      make(chan struct{}),
	}
	if r := s.cfg.Recorder; r != nil {
		w.record = r.Worker(id)
	}
	w.threaded = w.hasThread()
	w.keeps = w.keepsThread()
	w.seek = func() bool { return s.policy.seek(w, false) }
	if w.places = s.room; w.places != nil {
		w.places.AddCount(&w.tasks.n)
	}
	return w
}

// newArena makes an arena. Its Start queues a function as a task at that target.
func (s *Scheduler) newArena(to target) *park.Arena {
	return &park.Arena{Start: func(f func()) error {
		return s.enqueue(noRoom, &Task{Func: f}, Current(), to) // an arena has one helper at most that has not begun
	}}
}

// thread is what the goroutine of a multi-threaded worker runs. When the worker is ready to run tasks, it sends nil to
// started, or an error if the worker cannot be. started must have room for it. In the end thread closes done.
func (w *Worker) thread(started chan<- error) {
	if w.threaded {
		// The root fiber may add a lock of its own. By this one, coroutines of tasks differ from other goroutines.
		runtime.LockOSThread()
	}
	// A thread that was changed for a worker stays locked, and ends with it. The process's first one cannot end.
	if w.keeps && thread.IsFirst() {
		thread.Elsewhere(func() { w.thread(started) })
		return
	}
	root, err := w.prepare()
	if err != nil {
		close(w.done) // before New closes the scheduler: a survey looks at it
		started <- err
		return
	}
	w.begin(root)
	w.initialize(func(err error) {
		started <- err
		w.dispatch()
		w.endFibers()
		must(errors.Join(w.closeDevice(), w.detach()))
		if !w.keeps {
			w.local.polling.Stop()
			if w.threaded {
				runtime.UnlockOSThread()
			}
		}
		// Not deferred: a task's panic must not let Close return before it ends the program.
		close(w.done)
	})
}

// must panics with err if it is not nil. Then a worker cannot go on, or its Device could not be closed.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

const (
	timerSlack  = time.Microsecond       // how much later than asked the kernel may wake a worker's thread
	pollingTime = 160 * time.Millisecond // how long local.polling is pending; see block
)

// prepare makes the calling goroutine a root fiber, for w. If w keeps its thread, prepare first gives the calling
// thread its name, its CPUs and a fine timer slack.
func (w *Worker) prepare() (*fiber.Fiber, error) {
	cfg := &w.scheduler.cfg
	if !w.keeps {
		w.local.polling = time.AfterFunc(pollingTime, func() {})
		return fiber.Attach(cfg.Backend)
	}
	suffix := fmt.Sprintf("-w%d", w.id)
	if w.scheduler.Groups() > 1 {
		suffix = fmt.Sprintf("-g%dw%d", w.Group(), w.id)
	}
	thread.SetName(cfg.Name, suffix)
	if cfg.Affinity != nil {
		if err := thread.Restrict(w.cpus); err != nil {
			return nil, fmt.Errorf("%w: worker %d on CPUs %v: %w", ErrAffinity, w.id, w.cpus, err)
		}
	}
	_ = thread.SetTimerSlack(timerSlack) // if the kernel refuses, sleeps end some 50 us late
	return fiber.Attach(cfg.Backend)
}

// sharesFibers reports whether the worker runs fibers that may migrate.
func (w *Worker) sharesFibers() bool {
	return w.mode == multiThreaded && w.scheduler.migration != nil
}

// begin makes a Fiber of root, the calling goroutine's root fiber. This Fiber becomes the main and current fiber of w.
func (w *Worker) begin(root *fiber.Fiber) {
	f := &Fiber{fiber: root, maker: w, home: w, record: w.record, residue: fiber.ResidueHere()}
	f.word.Store(uint64(Running))
	f.worker.Store(w)
	f.self.Store(uint64(fiber.Self()))
	w.running.Store(f.self.Load())
	f.goroutine = fiber.GoroutineNumber()
	f.message.Value = ofFiber(f)
	f.task = root.Task()
	root.SetName(f.String())
	root.SetValue((*parker)(f))
	w.local.main, w.local.current = f, f
	w.lifetime.start()
	w.scheduler.fibers.add(f)
}

// initialize opens the device and calls the initializer. Then it calls proceed, with an error if the device could not
// be opened, or if one of the two called Goexit. A Goexit cannot be stopped: proceed runs before it ends the goroutine.
// If one of the two panics, proceed does not run, and the program ends.
func (w *Worker) initialize(proceed func(error)) {
	what, returned := "device", false
	defer func() {
		if returned {
			return
		}
		if value := recover(); value != nil {
			panic(value)
		}
		proceed(fmt.Errorf("the %s of %s: %w", what, w.name, ErrGoexit))
	}()
	if err := w.openDevice(); err != nil {
		returned = true
		proceed(err)
		return
	}
	what = "initializer"
	if initializer := w.scheduler.cfg.Initializer; initializer != nil {
		initializer(w.id)
	}
	w.local.main.local, w.local.main.hook = nil, nil
	w.local.main.residue.Clear()
	returned = true
	proceed(nil)
}

// detach makes the main fiber, which must be the caller, a plain goroutine again, and takes it off the scheduler's
// list. It returns the error of fiber.Detach; then it has changed nothing.
func (w *Worker) detach() error {
	f := w.local.main
	if err := f.fiber.Detach(); err != nil {
		return err
	}
	f.self.Store(0)
	w.running.Store(0)
	w.scheduler.fibers.remove(f)
	w.lifetime.stop()
	return nil
}

// mustRunCaller panics in a debug build unless w is the worker that the caller runs on.
func (w *Worker) mustRunCaller(what string) {
	if debug.On && !w.runsCaller() {
		panic("sched: " + what + " of " + w.name + " on another thread")
	}
}

// poll takes messages, ends waits whose deadlines have passed, and polls the device. The worker calls it on its thread.
func (w *Worker) poll() {
	w.mustRunCaller("poll")
	if !w.mailbox.Empty() {
		w.takeMessages()
	}
	if w.timers.next() != clock.Never {
		w.timers.expire(clock.Now())
	}
	if w.short() && w.sharesFibers() {
		w.passTasks()
	}
	if w.local.device != nil {
		w.pollDevice()
	}
}

// takeMessages moves all messages of the mailbox to the worker's local queues. The worker calls it on its thread.
func (w *Worker) takeMessages() {
	tasks := int64(0)
	for m := w.mailbox.Take(); m != nil; {
		r := m.Value
		m = m.Next()
		if f := r.fiber(); f != nil {
			w.local.ready.Push(f)
		} else {
			w.pushTask(r)
			tasks++
		}
	}
	if tasks > 0 {
		w.mailed.Add(-tasks) // after pinned, so that Stats overlooks none
	}
}

// pushTask queues a task that no other worker may begin.
func (w *Worker) pushTask(t runnable) {
	if t.flags&SameThread != 0 {
		w.local.sameThread = true
	}
	w.local.tasks.Push(t)
	w.pinned.add(1)
}

// hasLocal reports whether local holds anything to run.
func (w *Worker) hasLocal() bool { return !w.local.ready.Empty() || !w.local.tasks.Empty() }
