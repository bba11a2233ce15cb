package sched

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/internal/clock"
	"fiberlab/internal/queue"
)

// mode is how a worker comes by its thread.
type mode uint8

const (
	// multiThreaded workers have a thread of their own, made with the scheduler.
	multiThreaded mode = iota
	// singleThreaded workers borrow the thread of the goroutine that called Bind.
	// They run tasks only while that goroutine waits or unbinds.
	singleThreaded
)

// Worker runs tasks on one thread, on one fiber after the other: when a task
// blocks, its fiber keeps it, and another fiber carries the worker on.
type Worker struct {
	id        int
	name      string
	mode      mode
	scheduler *Scheduler
	recording *ring // nil: off

	// Others write the inbox and the bell whenever they bring a task: they must not
	// take the cache lines of the rest from the worker's processor.
	_     cpu.CacheLinePad
	work  work
	_     cpu.CacheLinePad
	inbox inbox
	bell  bell
	// summoned says that the worker has been woken to steal, since it last began to look
	// for something to steal: see passOn.
	summoned atomic.Bool
	_        cpu.CacheLinePad
	spin     spinBudget
	done     chan struct{} // closed when a multi-threaded worker's thread is through

	// Only the worker's own thread uses these.
	loot   queue.Queue[job] // on its way from a victim: empty between two attempts to steal
	spared bool             // the last attempt has left tasks to one who was just being woken
	turn   int              // goes round the workers
	ended  []*fiber.Fiber   // have ended, and wait to be closed; see reap
	random *rand.Rand

	// These, too, with the lock held.
	main    *Fiber // the one that the thread began with
	current *Fiber // the one that it runs
	asked   *Fiber // deadlock inquiry: the one that shall say where it waits
	asker   *Fiber // and the one that wants to know
	told    answer // and what that has said
}

// ID returns the worker's number: multi-threaded ones from 0, bound goroutines after them.
func (w *Worker) ID() int { return w.id }

// String names the worker and its scheduler.
func (w *Worker) String() string { return w.name }

// Stats counts what the worker has done; see [Scheduler.Stats] for all. The worker's lock must not be held.
func (w *Worker) Stats() WorkerStats {
	w.work.lock()
	defer w.work.unlock()
	return w.stats()
}

// work is what a worker has to do. Its lock guards all of it, and the state of each
// of the worker's fibers.
type work struct {
	workLock
	tasks   queue.Queue[job]    // not begun; idle workers may steal these
	pinned  queue.Queue[job]    // not begun, SameThread
	fibers  queue.Queue[*Fiber] // Queued
	waiting waitingFibers       // Waiting, by deadline
	idle    []*Fiber            // Idle; the one that ran last is taken first
	all     []*Fiber            // every one that is not ended
	blocked int                 // how many are Yielded, Waiting or, after that, Queued

	resumed  int       // fibers resumed since the last task was begun
	begun    int       // tasks begun since some were last taken from the inbox
	shutdown bool      // run until there is nothing left, then end
	stuck    *Deadlock // single-threaded: why shutdown cannot be reached

	rests     uint64   // how often it has run out of what it could run
	exhausted error    // why no fiber can be made, while that is so
	inquiry   *inquiry // to be answered when there is nothing to run

	counts counts
}

// timerSlack is how much later than asked the kernel may wake a worker's thread, in
// nanoseconds. Its default is 50 us.
const timerSlack = 1000

func newWorker(s *Scheduler, id int, mode mode) *Worker {
	return &Worker{
		id:        id,
		name:      fmt.Sprintf("%s worker %d", s.cfg.Name, id),
		mode:      mode,
		scheduler: s,
		recording: s.cfg.Recorder.forWorker(id),
		done:      make(chan struct{}),
		random:    rand.New(rand.NewPCG(uint64(clock.Now()), uint64(id))),
	}
}

// begin makes root, the calling goroutine, the main and current fiber. The lock must not be held.
func (w *Worker) begin(root *fiber.Fiber) {
	w.main = &Fiber{fiber: root, worker: w, state: Running, residue: fiber.ResidueHere()}
	w.main.task = root.Task()
	root.SetName(w.main.String())
	root.SetValue(w.main)
	w.work.lock()
	w.current = w.main
	w.work.all = append(w.work.all, w.main)
	w.work.counts.since = clock.Now()
	w.work.unlock()
}

// thread is the life of a multi-threaded worker. It sends one error or nil to started, which
// must have room for it, when the worker is ready to run tasks or cannot be. In the end
// it closes done.
func (w *Worker) thread(started chan<- error) {
	// It stays locked: a thread that was changed for a worker ends with it. The process's
	// first one cannot end, and its name is the process's.
	runtime.LockOSThread()
	if onFirstThread() {
		elsewhere(func() { w.thread(started) })
		return
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
		w.work.lock()
		w.run()
		w.endFibers()
		w.work.unlock()
		if err := root.Detach(); err != nil {
			panic(err)
		}
		// Not deferred: a task's panic must not let Close return before it ends the program.
		close(w.done)
	})
}

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
	nameThread(threadName(cfg.Name, w.id))
	if cfg.Affinity != nil {
		if err := cfg.Affinity.apply(w.id); err != nil {
			return nil, err
		}
	}
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, timerSlack, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("timer slack of %s: %w", w.name, err)
	}
	return fiber.Attach(cfg.Backend)
}

// initialize calls the initializer, and then proceed: with an error if the initializer has
// called Goexit, which cannot be stopped, and does what is left to do on its way out.
func (w *Worker) initialize(proceed func(error)) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if value := recover(); value != nil {
			panic(value)
		}
		proceed(fmt.Errorf("the initializer of %s: %w", w.name, ErrGoexit))
	}()
	if initializer := w.scheduler.cfg.Initializer; initializer != nil {
		initializer(w.id)
	}
	w.main.place = nil
	w.main.residue.Clear()
	returned = true
	proceed(nil)
}

// run is what each fiber of the worker does while it has no task to go on with. It
// returns when the fiber is not needed any more. The lock must be held; it is
// released while tasks run and while the worker sleeps.
func (w *Worker) run() {
	w.work.mustHold("run")
	w.runUntilShutdown()
}

// runUntilShutdown runs tasks and fibers until the worker has been told to shut
// down and nothing is left to be done. The lock must be held.
func (w *Worker) runUntilShutdown() {
	w.work.mustHold("runUntilShutdown")
	f := w.current
	for !f.ending && !w.finished() && w.work.stuck == nil {
		w.waitForWork()
		w.runUntilIdle()
	}
}
