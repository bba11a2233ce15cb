package forkjoin

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/park"
)

// result is what a job leads to: the claimable future, and what goes with it.
type result[T any] struct {
	promise  fibersync.Promise[T]
	job      job
	pool     *shared
	panicked bool // the future's error is a panic of the task; written before it is settled
}

func (r *result[T]) claim() bool { return r.promise.Claim() }

func (r *result[T]) started() bool { return r.promise.Future().Status() != fibersync.NotStarted }

func (r *result[T]) drop(reason error) {
	var none T
	r.promise.TrySettle(none, fmt.Errorf("forkjoin: %w", reason))
}

// fresh tells whether no trace of the job is left, though it was queued: it may be queued again.
func (r *result[T]) fresh() bool {
	return !r.started() && !r.job.stale
}

// wait blocks s, which is the caller, until the task is complete, and returns its result.
func (r *result[T]) wait(s *strand) (T, error) {
	future := r.promise.Future()
	if !s.hooked && !future.Ready() {
		s.BeforeBlock() // a goroutine has no hook
		defer s.AfterBlock()
	}
	return future.Get()
}

// await is wait for the result of a fork, which has no error but a panic: then the caller panics with it.
func (r *result[T]) await(s *strand) T {
	v, err := r.wait(s)
	if err != nil {
		panic(err)
	}
	return v
}

// fail returns the error of a task that has panicked with value, or has called Goexit if that is nil. It must be called while the
// frames that panicked are still there.
func (r *result[T]) fail(value any) error {
	if value == nil {
		if sched.Current() != nil {
			endProgram() // before anybody gets the error, and goes on for a moment
		}
		return fmt.Errorf("forkjoin: %w", fibersync.ErrGoexit)
	}
	r.panicked = true
	return panicError(value)
}

// panicError returns the value of a panic as an error that has the stack with it. A panic that comes from another strand has its own
// stack already.
func panicError(value any) error {
	if err, ok := value.(error); ok {
		if p := (*fibersync.PanicError)(nil); errors.As(err, &p) {
			return err
		}
	}
	return &fibersync.PanicError{Value: value, Stack: debug.Stack()}
}

// Future is a task that has been submitted, and its result. Its status is NOT_STARTED as long as it waits in the pool, IN_PROGRESS while it
// runs, and COMPLETED when it has returned, or has been dropped. The first strand that claims it runs it, and no other can.
type Future[T any] struct {
	result[T]
	task    func(*Pool) (T, error) // nil once it has begun
	by      atomic.Uintptr         // the strand's number that runs it
	fate    atomic.Uint32          // live, fetched or dropped
	discard atomic.Pointer[func(T)]
	note    *note // nil: Config.Forgotten is not set
}

const (
	live = iota
	fetched
	dropped
)

// Submit queues a task and returns its future. Get runs the task if nobody else has begun it. The task gets its pool, so that it can
// submit others. If the pool is closed and the caller is none of its tasks, the task never runs, and Get returns ErrClosed.
// Submit does not block. It panics with an error that wraps fibersync.ErrNilFunc if task is nil.
func Submit[T any](p *Pool, task func(*Pool) (T, error)) *Future[T] {
	if task == nil {
		panic(fmt.Errorf("forkjoin: submit: %w", fibersync.ErrNilFunc))
	}
	s := p.ownStrand()
	f := &Future[T]{task: task}
	f.pool, f.job.body = p.of, f
	f.job.inside = s != nil
	if s == nil && p.of.closed.Load() {
		f.fate.Store(fetched)
		f.claim()
		f.drop(ErrClosed)
		return f
	}
	p.of.live.Add(1)
	if forgotten := p.of.cfg.Forgotten; forgotten != nil {
		f.note = &note{report: forgotten}
		runtime.AddCleanup(f, (*note).look, f.note)
	}
	p.of.form.submit(s, &f.job)
	return f
}

// note outlives a future, to tell whether it has been forgotten.
type note struct {
	report func(string)
	over   atomic.Bool // the future has been fetched or dropped
}

func (n *note) look() {
	if !n.over.Load() {
		n.report("forkjoin: a future was neither fetched nor dropped: call Get or Drop of each")
	}
}

// run implements body.
func (f *Future[T]) run(s *strand) {
	var v T
	var err error
	task, returned := f.task, false
	f.task = nil
	f.by.Store(s.self.Load())
	saved := s.hideLocals()
	defer func() {
		if !returned {
			err = f.fail(recover())
		}
		s.restoreLocals(saved)
		f.by.Store(0)
		f.promise.TrySettle(v, err)
	}()
	v, err = task(&s.view)
	returned = true
}

// Get returns the task's result and error. If nobody has begun the task, the caller takes it off its queue and runs it. If it is in progress, Get blocks the caller
// until it is complete, a fiber not its thread. Any number of callers may get the same result, again and again.
//
// If the task has panicked, Get panics with an error that wraps a *fibersync.PanicError. If it has called Goexit on a
// goroutine, the error wraps fibersync.ErrGoexit; on a fiber that ends the program, as it does in any task of the scheduler. Get returns ErrDropped after
// Drop, and ErrClosed if the pool was closed before the task began. A task that gets its own future panics with an error that wraps ErrSelf.
func (f *Future[T]) Get() (T, error) { return f.GetContext(context.Background()) }

// GetContext is Get that waits no longer when ctx is done: it returns context.Cause(ctx) then, and the task goes on. A task that
// the caller runs itself is not stopped. If ctx is done before the call, the caller runs nothing.
func (f *Future[T]) GetContext(ctx context.Context) (T, error) {
	f.mustNotBeOwn("get")
	future := f.promise.Future()
	if ctx == context.Background() || park.ContextError(ctx) == nil {
		f.help()
	}
	if s := f.pool.root.ownStrand(); !future.Ready() && s != nil && !s.hooked {
		s.BeforeBlock()
		defer s.AfterBlock()
	}
	v, err := future.GetContext(ctx)
	if !future.Ready() {
		return v, err
	}
	v, err = future.Get() // the task may have become complete after the wait had ended
	if f.end(fetched) == dropped {
		var none T
		return none, fmt.Errorf("forkjoin: get: %w", ErrDropped)
	}
	if f.panicked {
		panic(err)
	}
	return v, err
}

// Ready tells whether the task is complete, so that Get returns at once. It does not block.
func (f *Future[T]) Ready() bool {
	f.mustBeMade()
	return f.promise.Future().Ready()
}

// Status returns the task's status at some moment during the call. It does not block.
func (f *Future[T]) Status() fibersync.Status {
	f.mustBeMade()
	return f.promise.Future().Status()
}

// Done returns a channel that is closed when the task is complete, for goroutines that select. It does not have the task run:
// a drainer will.
func (f *Future[T]) Done() <-chan struct{} {
	f.mustBeMade()
	return f.promise.Future().Done()
}

// ErrSelf is the error of a task that waits for itself.
var ErrSelf = errors.New("a task waits for its own future: return the result instead")

// mustBeMade panics if f does not come from Submit.
func (f *Future[T]) mustBeMade() {
	if f == nil || f.pool == nil {
		panic(notMade("Future"))
	}
}

// mustNotBeOwn panics if the caller runs on the stack on which the task is in progress, or if there is no task.
func (f *Future[T]) mustNotBeOwn(what string) {
	f.mustBeMade()
	if by := f.by.Load(); by != 0 && by == fiber.Self() {
		panic(fmt.Errorf("forkjoin: %s: %w", what, ErrSelf))
	}
}

// mostHelped is how many tasks a strand runs inside one another because callers needed their results. A caller that is deeper leaves the task
// to a drainer, with a stack of its own, and parks.
const mostHelped = 1000

// help runs the task if it has not started.
func (f *Future[T]) help() {
	if f.Status() != fibersync.NotStarted {
		return
	}
	if park.Current() == nil {
		f.helpOnGoroutine()
		return
	}
	s, made := f.pool.enter()
	if made {
		defer s.leave()
	}
	if s.helped >= mostHelped || !f.pool.form.takeBack(s, &f.job) {
		return
	}
	f.pool.helped.Add(1)
	s.helped++
	f.run(s)
	s.helped--
}

// helpOnGoroutine runs the task on a goroutine of its own: if the task calls Goexit, as testing's FailNow does, that must not unwind
// the caller.
func (f *Future[T]) helpOnGoroutine() {
	if !f.pool.form.takeBack(f.pool.root.ownStrand(), &f.job) {
		return
	}
	f.pool.helped.Add(1)
	f.pool.running.Add(1)
	go func() {
		defer f.pool.gone()
		s, _ := f.pool.enter()
		defer s.leave()
		f.run(s)
	}()
}

// endProgram is for a task that has called Goexit on a fiber. Goexit would unwind the frames below the task as well, perhaps those of a caller that needs
// its result, and nothing can stop it; the scheduler would end the program for it in the end.
func endProgram() {
	text := fmt.Sprintf("forkjoin: a task on a fiber: %v\n\n%s", fibersync.ErrGoexit, debug.Stack())
	go panic(text)
	select {}
}

// Drop says that nobody will fetch the result. A task that has not started is taken off its queue and never runs. If it is in progress, Drop
// blocks the caller until it is complete, since it may use what the caller is about to free. A result that nobody has fetched
// goes to the function that Discard has set. After Get, Drop does nothing.
func (f *Future[T]) Drop() {
	f.mustBeMade()
	if f.fate.Load() != live {
		return
	}
	f.mustNotBeOwn("drop")
	if f.Status() == fibersync.NotStarted && f.pool.form.takeBack(f.pool.root.ownStrand(), &f.job) {
		f.task = nil
		f.drop(ErrDropped)
	}
	_, _ = f.promise.Future().Get()
	if f.fate.CompareAndSwap(live, dropped) {
		f.over()
		f.dispose()
	}
}

// end makes a live future's fate this one, and returns what its fate is.
func (f *Future[T]) end(fate uint32) uint32 {
	if f.fate.Load() == live && f.fate.CompareAndSwap(live, fate) {
		f.over()
	}
	return f.fate.Load()
}

// over counts a future that is live no more.
func (f *Future[T]) over() {
	f.pool.live.Add(-1)
	if f.note != nil {
		f.note.over.Store(true)
	}
	if f.discard.Load() != nil {
		f.pool.mu.Lock()
		delete(f.pool.disposable, f)
		f.pool.mu.Unlock()
	}
}

// disposer is a future whose result may have to be disposed of.
type disposer interface{ abandon() }

// Discard has dispose called with the task's result, such as an open file, if nobody fetches it: by Drop, or by the pool's Close. It is not called if the task
// fails or does not run. Call Discard right after Submit. It panics with an error that wraps fibersync.ErrNilFunc if dispose is nil.
func (f *Future[T]) Discard(dispose func(T)) {
	if dispose == nil {
		panic(fmt.Errorf("forkjoin: discard: %w", fibersync.ErrNilFunc))
	}
	f.mustBeMade()
	f.pool.mu.Lock()
	defer f.pool.mu.Unlock()
	f.discard.Store(&dispose)
	if f.fate.Load() == live {
		if f.pool.disposable == nil {
			f.pool.disposable = make(map[disposer]struct{})
		}
		f.pool.disposable[f] = struct{}{}
	}
}

// abandon implements disposer: the pool is closed, and nobody has fetched the result. If there is only an error, Get may still
// tell which.
func (f *Future[T]) abandon() {
	if _, err := f.promise.Future().Get(); err == nil && f.fate.CompareAndSwap(live, dropped) {
		f.over()
		f.dispose()
	}
}

// dispose gives the result to the function that Discard has set.
func (f *Future[T]) dispose() {
	v, err := f.promise.Future().Get()
	if dispose := f.discard.Load(); dispose != nil && err == nil {
		(*dispose)(v)
	}
}
