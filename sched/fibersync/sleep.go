package fibersync

import (
	"context"
	"runtime"
	"time"

	"fiberlab/sched/park"
)

// Sleep blocks the caller for d. It gives up when ctx is done, and returns context.Cause(ctx) then.
// A fiber that sleeps leaves its thread to other fibers; a goroutine sleeps as by time.Sleep. If d is 0 or less, Sleep
// returns at once. It panics with an error that wraps ErrNilContext if ctx is nil.
func Sleep(ctx context.Context, d time.Duration) error {
	u := within(ctx)
	if err := u.Ended(); err != nil || d <= 0 {
		return err
	}
	if park.Current() == nil {
		return sleepGoroutine(ctx, d)
	}
	u.Deadline = time.Now().Add(d)
	w := newWaiter(nil)
	err := w.awaitUntil(u) // nothing hands off w, which is in no queue
	w.free()
	if err == park.ErrDeadline {
		return nil
	}
	return err
}

func sleepGoroutine(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return park.ContextError(ctx)
	}
}

// Yield lets others run first: a fiber the other fibers of its worker and a task that waits for the
// worker, a goroutine other goroutines, as runtime.Gosched does. It returns at once if there
// are none. If ctx is done, it does not yield and returns context.Cause(ctx). It panics with an error
// that wraps ErrNilContext if ctx is nil.
func Yield(ctx context.Context) error {
	if err := within(ctx).Ended(); err != nil {
		return err
	}
	if f, ok := park.Current().(park.Scheduled); ok {
		f.Yield()
	} else {
		runtime.Gosched()
	}
	return nil
}
