package dispatch

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/uring"
)

// Scheduler runs tasks on several contexts. A task stays with the context that it was given to. A scheduler's contexts
// do not stop themselves: one that has nothing to do may get another task at any time. The scheduler stops them all
// when the last task has ended.
type Scheduler struct {
	contexts []*Context
	engines  *uring.Engines
	next     atomic.Uint64 // whose turn it is

	mu   sync.Mutex     // held for moments
	none fibersync.Cond // of mu: live is 0
	live int            // tasks that have been submitted and have not ended
}

// NewScheduler makes a scheduler of n contexts, which Loop will start; 0 means one for each processor, as
// runtime.GOMAXPROCS has them. It returns an error that wraps ErrNoContexts if n is less than 0.
func NewScheduler(n int, options Options) (*Scheduler, error) {
	if n < 0 {
		return nil, fmt.Errorf("sched/uring: a scheduler of %d contexts: %w", n, ErrNoContexts)
	}
	if n == 0 {
		n = runtime.GOMAXPROCS(0)
	}
	s := &Scheduler{engines: uring.NewOfContexts(options.Engine)}
	s.none.L = &s.mu
	first := contextsMade.Add(int64(n)) - int64(n)
	for i := range n {
		c := newContext(int(first)+i, options, s.engines)
		c.tryStop = func(*contextRun) {}
		s.contexts = append(s.contexts, c)
	}
	return s, nil
}

// Engines returns the engines of the contexts, by which tasks open files and connections. A task uses the engine of its
// own context. The engines begin and end with Loop: see [Context.Engines].
func (s *Scheduler) Engines() *uring.Engines { return s.engines }

// Submit gives a task to the context whose turn it is. If Loop is about to return, the task waits for the next Loop.
// See [Context.Submit] for the rest.
func (s *Scheduler) Submit(t TopLevel) error { return s.SubmitContext(context.Background(), t) }

// SubmitContext is Submit, but gives up when ctx is done, as [Context.SubmitContext] does. It returns the same errors.
func (s *Scheduler) SubmitContext(ctx context.Context, t TopLevel) error {
	if ctx == nil {
		return fmt.Errorf("sched/uring: submit: %w", sched.ErrNilContext)
	}
	if !s.made() {
		return ErrNotMade
	}
	s.mu.Lock()
	s.live++
	s.mu.Unlock()
	c := s.contexts[(s.next.Add(1)-1)%uint64(len(s.contexts))]
	err := c.submit(ctx, task{t, s})
	if err != nil {
		s.taskEnded()
	}
	return err
}

func (s *Scheduler) made() bool { return s != nil && len(s.contexts) > 0 }

// taskEnded counts down live: a task has ended, or could not be submitted. It wakes Loop if none is left. It locks mu
// while it does both, so Loop cannot miss the wake-up between its look at live and its wait.
func (s *Scheduler) taskEnded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live--; s.live == 0 {
		s.none.Broadcast()
	}
}

// Loop starts the contexts, waits until all tasks have ended, and stops the contexts. It also waits for tasks that
// tasks submit, and for what tasks have started. Operations that goroutines have under way by the engines then end with
// ErrClosed. Afterwards tasks can be submitted, and Loop can be called again. It blocks its caller: a fiber, not its
// thread. A task of the scheduler must not call it. If a context cannot start, no task begins, and all stay queued.
// Loop returns the errors of [Context.Start] and [Context.Join].
func (s *Scheduler) Loop() error {
	if !s.made() {
		return ErrNotMade
	}
	for i, c := range s.contexts {
		if err := c.begin(); err != nil {
			return errors.Join(err, stop(s.contexts[:i]))
		}
	}
	for _, c := range s.contexts {
		c.openQueue()
	}
	s.mu.Lock()
	uring.Unseen(func() { s.none.Await(func() bool { return s.live == 0 }) })
	s.mu.Unlock()
	return stop(s.contexts)
}

// stop stops contexts, which must have been started, waits until all have stopped, and returns the errors of Join.
func stop(contexts []*Context) error {
	for _, c := range contexts {
		c.notifyStop()
	}
	var errs []error
	for _, c := range contexts {
		errs = append(errs, c.Join())
	}
	return errors.Join(errs...)
}
