package sched

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fiberlab/internal/clock"
)

// Close ends the scheduler: it waits until no goroutine binds it and nothing is left, neither
// tasks nor blocked fibers, and ends its workers' threads. While it waits for bound
// goroutines, Bind and Enqueue still succeed; after that only tasks may enqueue tasks.
//
// Close waits as long as something runs on a worker, even if that only computes, or will by a
// deadline. If nothing does, only a thread outside of the scheduler can notify the fibers that are
// blocked: Close gives them Config.GiveUpAfter, and returns a *Deadlock then. A deadline that
// lies more than a second ahead, and beyond the give-up limit, does not keep it from that. All
// stays as it was before Close: the fibers may still be notified, tasks enqueued, and
// Close called again.
//
// Close blocks its caller; see CloseContext for a limit, and for several calls at a time. Where it would wait for its
// own caller, it returns an error at once: ErrBound on a goroutine that is bound to s, and in that goroutine's tasks,
// and ErrInTask in any other task of s. A blocking call counts as inside of its task. The other errors are a *Deadlock,
// ErrNotUnbound if a goroutine has ended that s was bound to, and ErrClosed if an earlier call has succeeded.
func (s *Scheduler) Close() error {
	return s.CloseContext(context.Background())
}

// CloseContext is Close that gives up when ctx is done, with a *Remaining: it says what is left, and wraps
// context.Cause(ctx). All is then as it was before, as after a *Deadlock, which CloseContext returns too; only what
// DropQueued has dropped is gone. Close and CloseContext may be called again.
//
// Close and CloseContext may be called by many at a time. Each waits as long as its own context lets it, and while one
// of them waits, the scheduler is being closed. If it succeeds, or there is a deadlock, all get that result.
//
// Besides the errors of Close, it returns ErrNilContext if ctx is nil.
func (s *Scheduler) CloseContext(ctx context.Context, options ...CloseOption) error {
	switch {
	case !s.exists():
		return fmt.Errorf("sched: close: %w", ErrNotBound)
	case ctx == nil:
		return fmt.Errorf("sched: close %s: %w", s.cfg.Name, ErrNilContext)
	}
	if err := s.mayClose(); err != nil {
		return err
	}
	for _, o := range options {
		if o.drop {
			s.beginDropping()
			defer func() { s.endDropping(o.into) }()
		}
	}
	return s.close(ctx)
}

// mayClose says why the caller must not close s, if it must not.
func (s *Scheduler) mayClose() error {
	w := s.worker()
	if w == nil {
		w = s.callingWorker()
	}
	if w == nil {
		return nil
	}
	cause := ErrInTask
	if w.mode == singleThreaded {
		cause = ErrBound
	}
	return fmt.Errorf("sched: close %s: %w", s.cfg.Name, cause)
}

// closeCall is a call of Close or CloseContext, and what comes of it.
type closeCall struct {
	done chan struct{} // closed when err is set
	err  error
}

// close is CloseContext without options. One caller at a time ends the scheduler; the others wait for it, and if it
// gives up because its own context is done, one of them goes on in its place.
func (s *Scheduler) close(ctx context.Context) error {
	for {
		err := s.closeOrWait(ctx)
		if !errors.Is(err, errGaveUp) {
			return err
		}
		if ctx.Err() != nil {
			return s.remaining(ctx)
		}
	}
}

// errGaveUp is the result of an ending whose context is done. It never leaves the package.
var errGaveUp = errors.New("the context of the call that ends the scheduler is done")

// closeOrWait ends the scheduler, or waits for the call that does. It returns errGaveUp if that call's context, or ctx,
// is done first.
func (s *Scheduler) closeOrWait(ctx context.Context) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return fmt.Errorf("sched: close %s: %w", s.cfg.Name, errClosedBefore)
	}
	if e := s.closer; e != nil {
		s.mu.Unlock()
		select {
		case <-e.done:
			return e.err
		case <-ctx.Done():
			return errGaveUp
		}
	}
	e := &closeCall{done: make(chan struct{})}
	s.closer = e
	s.mu.Unlock()
	e.err = s.end(ctx)
	s.mu.Lock()
	s.closer, s.closed = nil, e.err == nil
	s.mu.Unlock()
	if e.err == nil {
		workersTaken.Add(-int64(len(s.workers)))
		close(s.over)
	}
	close(e.done)
	return e.err
}

// Done returns a channel that is closed when Close or CloseContext has succeeded: nothing of the scheduler runs any
// more. For a scheduler that New has not made it is closed.
func (s *Scheduler) Done() <-chan struct{} {
	if !s.exists() {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	return s.over
}

// end ends the scheduler. One caller at a time calls it; see closeOrWait. It takes these steps:
//
//  1. It waits until no goroutine binds the scheduler. From then on none may bind it, and only
//     tasks enqueue tasks.
//  2. It waits until the scheduler is quiescent, and neither a task nor a blocked fiber is left: see survey.
//  3. It closes all queues, for callers of Enqueue that began before step 1, and surveys again. If one of these was
//     quicker, it opens them and goes back to step 2.
//  4. It tells each worker to shut down. Each finds that it is finished, ends its fibers, and gives its thread back.
//  5. It waits until all workers are through.
//
// Until step 4 it may give up, and undoes step 1: because of a deadlock, because ctx is done, or because a goroutine
// has ended without Unbind.
func (s *Scheduler) end(ctx context.Context) error {
	s.listening.Swap(true) // before the first survey, or news might be lost
	defer s.listening.Store(false)
	if err := s.awaitOver(ctx); err != nil {
		s.openOutside()
		return err
	}
	for _, w := range s.workers { // step 4
		w.shutdown.Swap(true) // orders the store before the look at the worker's word
		w.word.Notify()
	}
	for _, w := range s.workers { // step 5
		<-w.done
	}
	return nil
}

// awaitOver takes steps 1 to 3 of end, or returns why it gives up.
func (s *Scheduler) awaitOver(ctx context.Context) error {
	o, bound := deadlockJudge{s: s, limit: clock.Instant(s.cfg.GiveUpAfter)}, boundJudge{s: s}
	for {
		closing := s.closeIfUnbound()
		v := s.survey(nil)
		if closing && v.over() && s.closeQueues(v) {
			return nil
		}
		deadlock, again := o.judge(v)
		if deadlock != nil {
			return deadlock
		}
		if ctx.Err() != nil {
			return errGaveUp
		}
		if err := bound.judge(); err != nil {
			return err
		}
		if bound.again > 0 && (again < 0 || bound.again < again) {
			again = bound.again
		}
		s.awaitNews(ctx, again)
	}
}

// closeIfUnbound lets no goroutine bind the scheduler any more, nor enqueue tasks from outside, if no
// goroutine binds it now. It reports whether that is so.
func (s *Scheduler) closeIfUnbound() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.bound) == 0 {
		s.closeOutside()
	}
	return s.closing.Load()
}

// closeOutside lets only tasks of s enqueue tasks from now on.
func (s *Scheduler) closeOutside() {
	s.closing.Store(true)
	if s.room != nil {
		s.room.Close()
	}
}

// openOutside takes closeOutside back.
func (s *Scheduler) openOutside() {
	if s.room != nil {
		s.room.Reopen()
	}
	s.closing.Store(false)
}

// closeQueues makes a scheduler that v has found to be over stay so: a call of Enqueue that began
// before Close finds all queues closed. It returns false, and has done nothing, if one was quicker.
func (s *Scheduler) closeQueues(v survey) bool {
	closed := true
	for _, w := range s.workers {
		closed = closed && s.policy.retire(w) && w.mailbox.close()
	}
	if closed && s.survey(nil) == v {
		return true
	}
	for _, w := range s.workers {
		s.policy.reopen(w)
		w.mailbox.reopen()
	}
	return false
}

// awaitNews blocks until a worker has fallen asleep or been unbound, or until limit has
// passed, less than 0 being none, or until ctx is done.
func (s *Scheduler) awaitNews(ctx context.Context, limit time.Duration) {
	var over <-chan time.Time
	if limit >= 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-s.news:
	case <-over:
	case <-ctx.Done():
	}
}

// signalClose lets Close know that a worker has fallen asleep, or has been unbound. It does not block.
func (s *Scheduler) signalClose() {
	if s.listening.Load() {
		select {
		case s.news <- struct{}{}:
		default:
		}
	}
}

// finished reports whether the worker has been told to shut down and nothing is left. From then on
// it takes nothing more.
func (w *Worker) finished() bool {
	if !w.shutdown.Load() || w.hasLocal() || w.stillBlocked() {
		return false
	}
	if w.mode == multiThreaded && !w.scheduler.policy.retire(w) {
		return false
	}
	return w.mailbox.close()
}

// givesUp reports whether Unbind shall return a deadlock.
func (w *Worker) givesUp() bool { return w.stuck.Load() != nil && w.staysStuck() }

// staysStuck reports whether the worker has found nothing to run since it was told to give up. Otherwise it goes on.
func (w *Worker) staysStuck() bool {
	if w.canRun() {
		w.stuck.Store(nil)
		return false
	}
	return true
}

// stillBlocked reports whether fibers are blocked that the worker may have to run.
func (w *Worker) stillBlocked() bool {
	if !w.sharesFibers() {
		return w.blocked.load() > 0
	}
	return w.scheduler.blocked() > 0
}

// blocked is how many fibers the scheduler's workers have that are blocked, or ready after that.
func (s *Scheduler) blocked() int {
	var sum uint64 // one worker blocks a fiber, and another may resume it: only the sum has a meaning
	for _, w := range s.everyWorker() {
		sum += w.blocked.load()
	}
	return int(sum)
}

// endPause is how long a worker at most sleeps that has been told to shut down, and that waits for fibers which may go
// on elsewhere.
const endPause = 10 * time.Millisecond

// stop makes the worker end when there is nothing left to do. A multi-threaded one
// closes done then. A single-threaded one must be stopped on its main fiber, which
// does what is left to do now; it returns what keeps it from ending, if anything does.
func (w *Worker) stop() *Deadlock {
	w.shutdown.Swap(true) // see idle.Word.Look
	w.word.Notify()
	if w.mode == multiThreaded {
		return nil
	}
	if !w.finished() && w.scheduler.cfg.GiveUpAfter >= 0 {
		unbound := make(chan struct{})
		defer close(unbound)
		go w.watchUnbind(unbound)
	}
	w.offDuty(w.local.main)
	w.dispatch()
	deadlock := w.stuck.Load()
	if deadlock == nil {
		w.endFibers()
	}
	w.shutdown.Store(false)
	w.stuck.Store(nil)
	return deadlock
}

// endFibers ends all fibers but the main one, on which it must be called when the
// worker is finished.
func (w *Worker) endFibers() {
	o := &w.local
	w.places.Look()
	if check := w.check.Load(); check != nil {
		w.answer(o.main, check)
	}
	for len(o.idle) > 0 {
		for len(o.idle) > 0 && len(o.ended) < mostEnded {
			f := w.takeIdle()
			f.ending = true
			o.current = f
			for o.current != o.main {
				w.enter(o.main, o.current)
			}
		}
		w.reap()
	}
	w.reap()
	w.scheduler.fibers.remove(o.main)
	w.times.enter(phaseNone)
}

// Remaining is the error of a CloseContext whose context is done: the rest of the scheduler. It wraps
// context.Cause of that context. Other goroutines may have changed some of it since.
type Remaining struct {
	Scheduler string
	Cause     error     // context.Cause
	Queued    int       // tasks that have not begun; see Stats.Pending
	Bound     int       // goroutines that have not been unbound
	Running   []Busy    // fibers that run a task, or are ready to go on
	Blocked   []Blocked // fibers that wait, with a deadline or without
}

// Busy is a fiber that is not blocked.
type Busy struct {
	Worker int    // its worker's number
	Fiber  int    // its own number on the worker that has made it
	Task   string // the name of its task, if that has one
	State  State  // Running or Queued
}

// String is one line: the fiber and its state.
func (r Busy) String() string {
	return Blocked{Worker: r.Worker, Fiber: r.Fiber, Task: r.Task, State: r.State}.String()
}

// Error is the text of the report. Like that of a Deadlock it has a limited number of lines; Running and Blocked have
// all.
func (r *Remaining) Error() string {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"sched: close %s: %v: left are %d tasks that have not begun, %d fibers that run, %d that are blocked, %d "+
			"bound goroutines: call Close again",
		r.Scheduler, r.Cause, r.Queued, len(r.Running), len(r.Blocked), r.Bound,
	)
	for _, f := range r.Running[:min(mostListed, len(r.Running))] {
		fmt.Fprintf(&b, "\n\t%v", f)
	}
	if more := len(r.Running) - mostListed; more > 0 {
		fmt.Fprintf(&b, "\n\tand %d more that run", more)
	}
	listBlocked(&b, r.Blocked)
	return b.String()
}

// Unwrap returns the cause.
func (r *Remaining) Unwrap() error { return r.Cause }

// remainingLimit is how long CloseContext waits until blocked fibers have said where they wait. Workers that have time
// answer within microseconds.
const remainingLimit = 50 * time.Millisecond

// remaining says what keeps the scheduler from ending.
func (s *Scheduler) remaining(ctx context.Context) *Remaining {
	stats := s.Stats()
	s.mu.Lock()
	r := &Remaining{Scheduler: s.cfg.Name, Cause: context.Cause(ctx), Queued: stats.Pending, Bound: len(s.bound)}
	s.mu.Unlock()
	told := make(map[[2]int]bool) // by worker and number
	if s.asking.TryLock() {
		r.Blocked = describe(s.answersOfSleepers())
		s.asking.Unlock()
	}
	for _, b := range r.Blocked {
		told[[2]int{b.Worker, b.Fiber}] = true
	}
	for _, f := range s.fibers.all() {
		number, busy := f.taskName()
		state, name := f.State(), s.names.of(number)
		switch {
		case state == Idle, told[[2]int{f.maker.id, f.id}]:
		case state == Yielded, state == Waiting:
			r.Blocked = append(r.Blocked, Blocked{Worker: f.maker.id, Fiber: f.id, Task: name, State: state})
		case busy:
			r.Running = append(r.Running, Busy{Worker: f.maker.id, Fiber: f.id, Task: name, State: state})
		}
	}
	slices.SortFunc(r.Running, func(a, b Busy) int {
		return slices.Compare([]int{a.Worker, a.Fiber}, []int{b.Worker, b.Fiber})
	})
	slices.SortStableFunc(r.Blocked, func(a, b Blocked) int {
		return slices.Compare([]int{a.Worker, a.Fiber}, []int{b.Worker, b.Fiber})
	})
	return r
}

// answersOfSleepers has the workers that sleep list their blocked fibers. asking must be held.
func (s *Scheduler) answersOfSleepers() (answers []answer) {
	limit := time.After(remainingLimit)
	for _, w := range s.everyWorker() {
		if !w.word.Asleep() || !s.fibers.anyYielded(w) {
			continue
		}
		some, inTime := w.listBlocked(limit)
		answers = append(answers, some...)
		if !inTime {
			break
		}
	}
	return answers
}
