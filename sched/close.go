package sched

import (
	"context"
	"fmt"
	"time"

	"fiberlab/internal/clock"
)

// Close ends the scheduler: it waits until no goroutine binds it and nothing is left, neither
// tasks nor blocked fibers, and ends its workers' threads. While it waits for bound
// goroutines, Bind and Enqueue still succeed; after that only tasks may enqueue tasks.
//
// Close waits while a worker runs something, even if that only computes, and while a fiber waits for a blocking call or
// an operation of a device. It also waits for deadlines of fibers. But if fibers are blocked without a deadline, it
// ignores deadlines that are further ahead than a second and than Config.GiveUpAfter. If nothing else is left, only a
// thread outside of the scheduler can notify these fibers. Close waits Config.GiveUpAfter for that, and then returns a
// *Deadlock. All is then as before Close: fibers may be notified, tasks enqueued, and Close called again.
//
// Close blocks its caller; see CloseContext for a limit. It never waits for its own caller. On a goroutine that is
// bound to s, and in that goroutine's tasks, it returns ErrBound at once, and in any other task of s ErrInTask. A
// blocking call counts as inside of its task. The other errors are a *Deadlock, ErrNotUnbound if a goroutine has ended
// without Unbind, and ErrClosed if an earlier call has succeeded.
func (s *Scheduler) Close() error { return s.CloseContext(context.Background()) }

// CloseContext is Close that gives up when ctx is done, with an error that says how much is left, and wraps
// context.Cause(ctx). All is then as it was before, as after a *Deadlock.
//
// Close and CloseContext may be called by many at a time, each with its own context. One of them closes the scheduler.
// If it succeeds, the others succeed too; if it gives up, the next one goes on.
//
// Besides the errors of Close, it returns ErrNilContext if ctx is nil.
func (s *Scheduler) CloseContext(ctx context.Context) error {
	switch {
	case !s.exists():
		return fmt.Errorf("sched: close: %w", ErrNotBound)
	case ctx == nil:
		return fmt.Errorf("sched: close %s: %w", s.cfg.Name, ErrNilContext)
	}
	return s.closeWithin(ctx, s.cfg.GiveUpAfter)
}

// closeWithin is CloseContext with limit in place of Config.GiveUpAfter. New must have made s, and ctx must not be nil.
func (s *Scheduler) closeWithin(ctx context.Context, limit time.Duration) error {
	if err := s.mayClose(); err != nil {
		return err
	}
	select {
	case s.closer <- struct{}{}:
	default:
		select { // another call closes s
		case s.closer <- struct{}{}:
		case <-ctx.Done():
			return s.remaining(ctx)
		}
	}
	defer func() { <-s.closer }()
	if isClosed(s.over) {
		return nil // by that other call
	}
	return s.close(ctx, limit)
}

// mayClose returns nil if the caller may close s, or else the error of Close that says why not.
func (s *Scheduler) mayClose() error {
	w := s.insideOf(Current())
	switch {
	case isClosed(s.over):
		return fmt.Errorf("sched: close %s: %w", s.cfg.Name, errClosedBefore)
	case w == nil:
		return nil
	case w.mode == singleThreaded:
		return fmt.Errorf("sched: close %s: %w", s.cfg.Name, ErrBound)
	}
	return fmt.Errorf("sched: close %s: %w", s.cfg.Name, ErrInTask)
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

// isClosed reports whether c, through which nothing is sent, has been closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// close is closeWithin for one caller at a time. It takes these steps:
//
//  1. It waits until no goroutine binds the scheduler. From then on none may bind it, and only
//     tasks enqueue tasks.
//  2. It waits until the scheduler is quiescent, and neither a task nor a blocked fiber is left: see survey.
//  3. It closes all queues, since calls of Enqueue may have begun before step 1, and surveys again. If such a call has
//     queued a task in the meantime, it opens the queues again and goes back to step 2.
//  4. It has each worker shut down, which ends its fibers and gives its thread back.
//  5. It waits until all workers are through.
//
// Before step 4 it may give up: because of a deadlock, because ctx is done, or because a goroutine has ended without
// Unbind. Then it undoes step 1.
func (s *Scheduler) close(ctx context.Context, limit time.Duration) error {
	s.listening.Swap(true) // before the first survey, or news might be lost
	defer s.listening.Store(false)
	deadlocks := deadlockJudge{s: s, limit: clock.Instant(limit)}
	ask, untilAsk := clock.After(DefaultGiveUpAfter), DefaultGiveUpAfter
	for {
		unbound := s.refuseOutside()                 // step 1
		v := s.survey()                              // step 2
		if unbound && v.over() && s.closeQueues(v) { // step 3
			break
		}
		deadlock := deadlocks.judge(v)
		var err error
		switch {
		case deadlock != nil:
			err = deadlock
		case ctx.Err() != nil:
			err = s.remaining(ctx)
		case v.bound > 0 && clock.Now() >= ask: // to ask stops the program for a moment, so it asks ever more seldom
			err, untilAsk = s.endedBound(), 2*untilAsk
			ask = clock.After(untilAsk)
		}
		if err != nil {
			s.admitOutside()
			return err
		}
		pause(stepOf(deadlocks.limit), s.news, ctx.Done())
	}
	s.closed.Store(true)
	for _, w := range s.workers { // step 4
		w.shutDown()
	}
	for _, w := range s.workers { // step 5
		<-w.done
	}
	workersTaken.Add(-int64(len(s.workers)))
	close(s.over)
	return nil
}

// refuseOutside makes Bind, and Enqueue from outside, fail from now on, unless a goroutine binds the scheduler. It
// reports whether they fail.
func (s *Scheduler) refuseOutside() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.bound) == 0 {
		s.closing.Store(true)
		if s.room != nil {
			s.room.Close()
		}
	}
	return s.closing.Load()
}

// admitOutside takes back what refuseOutside has done.
func (s *Scheduler) admitOutside() {
	if s.room != nil {
		s.room.Reopen()
	}
	s.closing.Store(false)
}

// closeQueues closes all queues and returns true: calls of Enqueue from outside that began before step 1 of close then
// queue nothing. v is a survey that is over. If anything has changed since v, it opens the queues and returns false.
func (s *Scheduler) closeQueues(v survey) bool {
	closed := true
	s.policy.setClosed(true)
	for _, w := range s.workers {
		closed = (w.mailbox.Close() || isClosed(w.done)) && closed
	}
	if closed && s.survey() == v {
		return true
	}
	s.policy.setClosed(false)
	for _, w := range s.workers {
		w.mailbox.Open()
	}
	return false
}

// signalClose lets Close know that a worker has fallen asleep, or has been unbound. It does not block.
func (s *Scheduler) signalClose() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// finished reports whether nothing is left for w, which shall shut down; w calls it on its thread. For a multi-threaded
// worker, Close has found that out before. The worker of a goroutine that unbinds looks itself: if nothing is left, it
// closes its mailbox, so that no task comes any more.
func (w *Worker) finished() bool {
	return w.mode == multiThreaded || !w.hasLocal() && w.blocked.load() == 0 && w.mailbox.Close()
}

// shutDown has w end once nothing is left for w; a multi-threaded worker closes done then. Any thread may call it.
func (w *Worker) shutDown() {
	w.shutdown.Swap(true) // see idle.Word.Look
	w.word.Notify()
}

// endFibers ends the idle fibers of a finished worker, and gives their stacks back. The main fiber calls it.
// Each other fiber is entered once more: it finds that it is ending, and returns to
// the main fiber.
func (w *Worker) endFibers() {
	o := &w.local
	for len(o.idle) > 0 {
		f := w.takeIdle()
		f.ending = true
		for o.current = f; o.current != o.main; {
			must(o.main.fiber.SwitchTo(o.current.fiber))
		}
		if len(o.ended) >= mostEnded {
			w.reap()
		}
	}
	w.reap()
}

// remaining is the error of a CloseContext whose ctx is done: it says how much keeps the scheduler from ending.
func (s *Scheduler) remaining(ctx context.Context) error {
	begun := 0
	for _, w := range s.everyWorker() {
		begun += int(w.tasks.load() - w.tasksDone.load())
	}
	now := s.Stats()
	return fmt.Errorf(
		"sched: close %s: %w: left are %d tasks that have not begun, %d that have begun, %d blocked fibers, %d bound "+
			"goroutines: call Close again",
		s.cfg.Name, context.Cause(ctx), now.Pending, max(begun, 0), now.Blocked, len(now.Workers)-len(s.workers),
	)
}
