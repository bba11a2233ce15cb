package sched

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/internal/clock"
	"fiberlab/sched/park"
)

// mode is how a worker comes by its thread.
type mode uint8

const (
	// multiThreaded workers have their own thread, made with the scheduler.
	multiThreaded mode = iota
	// singleThreaded workers borrow the thread of the goroutine that called Bind.
	// They run tasks only while that goroutine waits or unbinds.
	singleThreaded
)

// Worker runs tasks on one thread, on one fiber after the other: when a task
// blocks, its fiber keeps it, and another fiber carries the worker on. While it is idle it may give the thread up; see
// Config.KeepThreads.
type Worker struct {
	id        int
	name      string
	mode      mode
	cpus      []int  // that its thread is restricted to, if there is a Config.Affinity
	goroutine string // that is bound as the worker, as dumps name it
	scheduler *Scheduler
	record    *recording // of what its fibers do; nil: off
	driver    driver
	untied    *untiedSleep  // where it sleeps without a thread; nil: it keeps its thread
	timers    *groupTimers  // of fibers that it shares with other workers
	arena     *park.Arena   // where tasks of its fibers start others
	seek      func() bool   // the policy's seek, while the worker spins
	done      chan struct{} // closed when a multi-threaded worker's thread is through

	_       [2]cpu.CacheLinePad
	mailbox mailbox       // others write it
	running atomic.Uint64 // Fiber.self of the fiber that the worker runs; deliver must not find a fiber there that may run elsewhere
	_       [2]cpu.CacheLinePad

	own own // for the worker's thread alone
	counts

	engine atomic.Pointer[any]
	device atomic.Pointer[Device] // own.device, for others

	// Others may read these, and write the last three.
	exhausted    atomic.Pointer[error] // why no fiber can be made, while that is so
	nextDeadline atomic.Int64          // deadline when the worker last slept, or could make no fiber; a clock.Instant
	shutdown     atomic.Bool           // run until there is nothing left, then end
	stuck        atomic.Pointer[Deadlock]
	check        atomic.Pointer[check] // to be answered when there is nothing to run
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

// timerSlack is how much later than asked the kernel may wake a worker's thread, in
// nanoseconds. Its default is 50 us.
const timerSlack = 1000

// defaultSlack stands for the slack that a thread began with.
const defaultSlack = 0

func newWorker(s *Scheduler, id int, mode mode) *Worker {
	w := &Worker{
		id:        id,
		name:      fmt.Sprintf("%s worker %d", s.cfg.Name, id),
		mode:      mode,
		scheduler: s,
		record:    recordWorker(s.cfg.Recorder, id),
		driver:    newDriver(s.cfg.Policy, mode, mode == singleThreaded || s.locksThreads()),
		timers:    noTimers,
		done:      make(chan struct{}),
	}
	if mode == multiThreaded && s.untiesIdle() {
		w.untied = newUntiedSleep(w)
	}
	w.seek = func() bool { return s.policy.seek(w, false) }
	w.nextDeadline.Store(int64(clock.Never))
	w.own.outOfDuty = s.cfg.OutOfDuty
	return w
}

// begin makes root, the calling goroutine, the main and current fiber.
func (w *Worker) begin(root *fiber.Fiber) {
	f := &Fiber{fiber: root, maker: w, home: w, record: w.record, residue: fiber.ResidueHere()}
	f.word.Store(uint64(Running))
	f.worker.Store(w)
	f.self.Store(uint64(fiber.Self()))
	f.letter.fiber = f
	f.task = root.Task()
	root.SetName(f.String())
	root.SetValue((*parker)(f))
	w.own.main, w.own.current = f, f
	w.times.begin()
	w.scheduler.fibers.add(f)
}

// detach makes the calling goroutine, whose fiber is the main one, a plain one again.
func (w *Worker) detach() error {
	f := w.own.main
	if err := f.fiber.Detach(); err != nil {
		return err
	}
	f.self.Store(0)
	w.running.Store(0)
	return nil
}

// thread is the life of a multi-threaded worker. It sends one error or nil to started, which
// must have room for it, when the worker is ready to run tasks or cannot be. In the end
// it closes done.
func (w *Worker) thread(started chan<- error) {
	if w.keepsThread() {
		// It stays locked: a thread that was changed for a worker ends with it. The process's
		// first one cannot end, and its name is the process's.
		runtime.LockOSThread()
		if onFirstThread() {
			elsewhere(func() { w.thread(started) })
			return
		}
	}
	root, err := w.prepare()
	if err != nil {
		started <- err
		close(w.done)
		return
	}
	w.begin(root)
	w.initialize(func(err error) {
		started <- err
		w.runThread()
		w.endFibers()
		if err := w.closeDevice(); err != nil {
			panic(err)
		}
		if err := w.detach(); err != nil {
			panic(err)
		}
		// Not deferred: a task's panic must not let Close return before it ends the program.
		close(w.done)
	})
}

// sharesFibers tells whether the worker runs fibers that may migrate.
func (w *Worker) sharesFibers() bool {
	return w.mode == multiThreaded && w.scheduler.migration != nil
}

// keepsThread tells whether a multi-threaded worker has one thread for all its life.
func (w *Worker) keepsThread() bool { return w.scheduler.locksThreads() && w.untied == nil }

// isDone tells whether the thread of a multi-threaded worker is through.
func (w *Worker) isDone() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// prepare makes the calling thread fit for the worker.
func (w *Worker) prepare() (*fiber.Fiber, error) {
	cfg := &w.scheduler.cfg
	if !w.keepsThread() {
		return fiber.Attach(cfg.Backend)
	}
	group := -1
	if w.scheduler.Groups() > 1 {
		group = w.Group()
	}
	nameThread(threadName(cfg.Name, group, w.id))
	if cfg.Affinity != nil {
		if err := restrictTo(w.id, w.cpus); err != nil {
			return nil, err
		}
	}
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, timerSlack, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("timer slack of %s: %w", w.name, err)
	}
	return fiber.Attach(cfg.Backend)
}

// initialize opens the device, calls the initializer, and then proceed: with an error if the device could not be opened, or one of the two has
// called Goexit, which cannot be stopped, and does what is left to do on its way out.
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
	w.own.main.local, w.own.main.hook = nil, nil
	w.own.main.residue.Clear()
	returned = true
	proceed(nil)
}
