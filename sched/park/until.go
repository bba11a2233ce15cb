package park

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// Until bounds a wait: by a context, by a deadline, or by both. The zero value never ends.
type Until struct {
	Context  context.Context // nil: none
	Deadline time.Time       // zero: none
}

// ErrDeadline is the error of an Until whose Deadline has passed. It is for primitives, which say something better to
// their callers.
var ErrDeadline = errors.New("the deadline of the wait has passed")

// Await parks p, which must be the caller, until over is not 0, or until u has ended: then it returns u's error. The
// code that makes over something else than 0 calls p.Unpark afterwards. Reports of a deadlock say that p waits for
// what, unless that is nil.
//
// If u ends, a late Unpark of p may still come.
func (u Until) Await(p Parker, over *atomic.Uint64, what Awaited) error {
	if u.Context != nil && u.Context.Done() != nil && u.Context.Err() == nil {
		stop := context.AfterFunc(u.Context, p.Unpark)
		defer stop()
	}
	for alarm := u.earliest(); over.Load() == 0; alarm = u.alarmAfter(alarm) {
		if err := u.Ended(); err != nil {
			return err
		}
		if what != nil {
			if f, ok := p.(Scheduled); ok {
				f.Awaits(what) // Park forgets it each time
			}
		}
		p.Park(alarm)
	}
	return nil
}

// Ended returns why the wait must end, or nil: ContextError of the context, or ErrDeadline. The deadline of a context
// does not end it before the context itself is done: a caller that asks the context then gets the same answer.
func (u Until) Ended() error {
	if u.Context != nil {
		if err := ContextError(u.Context); err != nil {
			return err
		}
	}
	if !u.Deadline.IsZero() && !time.Now().Before(u.Deadline) {
		return ErrDeadline
	}
	return nil
}

// Endless reports whether u never ends.
func (u Until) Endless() bool {
	return (u.Context == nil || u.Context == context.Background()) && u.Deadline.IsZero()
}

// ContextError returns nil if ctx is not done, and context.Cause(ctx) if it is.
func ContextError(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// earliest returns the earliest deadline of u, or the zero time if it has none.
func (u Until) earliest() time.Time {
	if u.Context != nil {
		if d, ok := u.Context.Deadline(); ok && (u.Deadline.IsZero() || d.Before(u.Deadline)) {
			return d
		}
	}
	return u.Deadline
}

// overdueInterval is how long a wait parks at a time when a context's deadline has passed and the context is not done
// yet. The end of a context comes by an Unpark if its Done channel is closed. This serves contexts that do not close
// it.
const overdueInterval = 10 * time.Millisecond

// alarmAfter returns when to check u again after alarm.
func (u Until) alarmAfter(alarm time.Time) time.Time {
	if u.Context == nil || alarm.IsZero() {
		return alarm
	}
	now := time.Now()
	if now.Before(alarm) {
		return alarm
	}
	next := now.Add(overdueInterval)
	if !u.Deadline.IsZero() && u.Deadline.Before(next) {
		return u.Deadline
	}
	return next
}
