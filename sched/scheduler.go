package sched

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fiberlab/internal/admission"
	"fiberlab/internal/goroutine"
	"fiberlab/internal/idle"
	"fiberlab/sched/park"
)

// Scheduler runs tasks on the fibers of its workers. Make one with New; end it with Close.
//
// A nil Scheduler, which Get returns if none is bound to the caller, and a zero one accept nothing. Their methods that
// return an error return ErrNotBound. Done returns a closed channel, and the other methods return zero values.
type Scheduler struct {
	cfg       Config
	workers   []*Worker // multi-threaded, by number
	policy    policy
	migration migration   // the policy, if under it fibers may migrate; else nil
	sets      []*idle.Set // of the workers, if fibers may migrate
	fibers    registry
	room      *admission.Room // of tasks that wait to begin; nil: any number may
	closing   atomic.Bool
	closed    atomic.Bool // Close has closed all queues for good
	shared    park.Shared
	looked    atomic.Int64 // when the watchdog looked last, a clock.Instant; 0: there is none now
	arena     *park.Arena  // of workers that belong to no scheduling group

	listening atomic.Bool   // Close waits for news
	news      chan struct{} // see signalClose
	closer    chan struct{} // has room for one entry: of the call that closes s
	over      chan struct{} // closed when Close has succeeded; see Done

	mu      sync.Mutex
	bound   []*Worker // single-threaded workers, by number
	unbound Stats     // what such workers counted that have ended
	numbers int       // of workers so far
}

// New makes a scheduler and starts its multi-threaded workers, all at the same time. It returns when all of them run,
// and their initializers have returned. If a worker cannot run, New stops the others, and returns an error. It waits
// at most a second for initializers that still run then. The errors are ErrNegative, ErrWorkers, ErrAffinity,
// ErrPolicy, ErrGoexit, and errors of Config.Device, of package fiber and of the kernel.
//
// In a bubble of testing/synctest it returns ErrBubble. To a bubble, the tasks of a scheduler that was made outside are
// outside too. The runtime ends the program if such a task uses a channel or a timer of the bubble. It also does so if
// all goroutines of the bubble wait for such tasks by primitives of fibersync or a pool of forkjoin. A goroutine of the
// bubble may wait for them on a channel that was made outside.
func New(cfg Config) (*Scheduler, error) {
	if goroutine.InBubble() {
		return nil, fmt.Errorf("sched: new: %w", ErrBubble)
	}
	cfg, err := cfg.checked()
	if err != nil {
		return nil, fmt.Errorf("sched: new: %w", err)
	}
	s := newScheduler(cfg)
	if err := s.start(); err != nil {
		return nil, fmt.Errorf("sched: new: %w", err)
	}
	if cfg.Watchdog > 0 {
		go s.watch(cfg.Watchdog, false, s.over)
	}
	return s, nil
}

// MaxWorkers limits the workers of a program, with bound goroutines: New fails if all schedulers would have more. Bind
// does not look at it. Each worker needs a thread. Go ends a program that has 10,000 threads (debug.SetMaxThreads), and
// blocking calls need some as well.
const MaxWorkers = 8000

// workersTaken is how many workers the program has, in all its schedulers, with goroutines that are bound.
var workersTaken atomic.Int64

// takeWorkers counts n more workers of the program, or returns ErrWorkers if these are too many.
func takeWorkers(n int) error {
	for {
		others := workersTaken.Load()
		if n > MaxWorkers-int(others) {
			return fmt.Errorf("Config.Workers is %d, and other schedulers have %d: %w", n, others, ErrWorkers)
		}
		if workersTaken.CompareAndSwap(others, others+int64(n)) {
			return nil
		}
	}
}

// newScheduler makes a scheduler, and its multi-threaded workers, without their threads. cfg has its defaults.
func newScheduler(cfg Config) *Scheduler {
	s := &Scheduler{
		cfg:     cfg,
		numbers: cfg.Workers,
		news:    make(chan struct{}, 1),
		closer:  make(chan struct{}, 1),
		over:    make(chan struct{}),
	}
	s.shared.MaxCalls = cfg.MaxCalls
	if cfg.MaxQueued > 0 {
		s.room = admission.New(cfg.MaxQueued, cfg.Workers, ErrFull, ErrClosed)
	}
	s.arena = s.newArena(target{})
	for id := range cfg.Workers {
		w := newWorker(s, id, multiThreaded)
		if cfg.Affinity != nil {
			w.cpus = cfg.Affinity(id)
		}
		s.workers = append(s.workers, w)
	}
	s.policy = cfg.Policy.make(s.workers, cfg.Groups)
	s.migration, _ = s.policy.(migration)
	if s.migration != nil {
		shared := newTimers(s.wakeIdle)
		for _, w := range s.workers {
			w.timers = shared
			if w.number == 0 { // each set has one
				s.sets = append(s.sets, w.peers)
			}
		}
	}
	return s
}

// start starts all workers at the same time, and returns when all are ready. If one fails, it closes s and returns why.
func (s *Scheduler) start() error {
	// This comes after all functions of Config that may panic: from here on, Close gives the workers back.
	if err := takeWorkers(len(s.workers)); err != nil {
		return err
	}
	started := make(chan error, len(s.workers))
	for _, w := range s.workers {
		go w.thread(started)
	}
	for range s.workers {
		if err := <-started; err != nil {
			return s.abandon(err)
		}
	}
	return nil
}

// abandon closes a scheduler that cannot start because of err, and returns err. It blocks for a second at most, while
// initializers and their tasks run. If they run longer, the error says so, and Close continues on another goroutine.
func (s *Scheduler) abandon(err error) error {
	go s.closeWithin(context.Background(), forever)
	select {
	case <-s.over:
		return err
	case <-time.After(DefaultGiveUpAfter):
		return fmt.Errorf("%w; and workers end only when an initializer, or a task that it has scheduled, has ended", err)
	}
}

// Run is the whole life of a scheduler: it makes one, binds it, calls f, and when f has returned
// it unbinds and closes it, which waits for all tasks. f finds the scheduler by Get.
//
// While f runs, a watchdog reports deadlocks and stalls, which it does not end; see Config.Watchdog.
//
// Run calls f on the calling goroutine. If f panics or calls Goexit, Run unbinds and closes too. It returns the errors
// of New, Bind, Unbind and Close, or one that wraps ErrNilTask if f is nil. If the error is a *Deadlock, the blocked
// fibers and the scheduler stay as they are. So does the binding if Unbind has reported the deadlock.
func Run(cfg Config, f func()) (err error) {
	if f == nil {
		return fmt.Errorf("sched: run: %w", ErrNilTask)
	}
	s, err := New(cfg)
	if err != nil {
		return err
	}
	if err := s.Bind(); err != nil {
		return errors.Join(err, s.Close())
	}
	defer func() {
		if err = Unbind(); err == nil || errors.Is(err, ErrNotBound) { // f has called Unbind
			err = errors.Join(err, s.Close())
		}
	}()
	if cfg.Watchdog == 0 {
		over := make(chan struct{})
		defer close(over)
		go s.watch(DefaultWatchdog, true, over)
	}
	f()
	return nil
}

// exists reports whether New has made s.
func (s *Scheduler) exists() bool { return s != nil && s.over != nil }

// Workers returns how many multi-threaded workers s has. The number never changes.
func (s *Scheduler) Workers() int {
	if !s.exists() {
		return 0
	}
	return len(s.workers)
}

// everyWorker lists the workers by number, bound goroutines last. Any thread may call it; it takes the scheduler's mu.
func (s *Scheduler) everyWorker() []*Worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Concat(s.workers, s.bound)
}
