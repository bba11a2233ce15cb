package sched

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"fiberlab/internal/spinlock"
	"fiberlab/sched/park"
)

// room limits how many tasks of a scheduler wait to begin; see Config.MaxQueued. A caller takes a place before it queues a
// task, and the worker that begins the task gives the place back. If callers wait, the place is handed off to the first of
// them; so there are free places only while none waits, and no later caller overtakes.
type room struct {
	most int // how many places there are

	mu          spinlock.Lock
	free        int
	closed      bool         // callers from outside get no place
	first, last *roomWaiter  // in the order of their arrival
	waiting     atomic.Int64 // how many they are, to be read without mu
}

// roomWaiter is a caller that waits for a place.
type roomWaiter struct {
	parker         park.Parker
	inside         bool          // it is a task of the scheduler, or a blocking call of one
	outcome        atomic.Uint32 // one of the constants below; changed with mu held
	next, previous *roomWaiter
}

// The outcomes of a wait for a place.
const (
	stillWaiting = iota
	admitted     // it has the place
	refused      // the scheduler is being closed
)

func newRoom(most int) *room { return &room{most: most, free: most} }

// take gets the caller a place. If there is none, it blocks the caller until there is, or until ctx is done; then it returns
// context.Cause(ctx). With noWait it returns ErrFull at once instead. A free place is taken even if ctx is done. It
// returns ErrClosed to a caller from outside once the room is closed.
func (r *room) take(ctx context.Context, inside bool) error {
	err := r.admit(inside, nil)
	if ctx == noWait || !errors.Is(err, ErrFull) {
		return err
	}
	w := &roomWaiter{parker: park.Current(), inside: inside}
	if w.parker == nil {
		w.parker = park.NewGoroutine()
	}
	if err := r.admit(inside, w); !errors.Is(err, ErrFull) {
		return err
	}
	return r.await(ctx, w)
}

// admit takes a place for the caller, or returns ErrClosed or ErrFull. In the last case w, unless it is nil, waits from now on.
func (r *room) admit(inside bool, w *roomWaiter) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed && !inside:
		return ErrClosed
	case r.free > 0:
		r.free--
		return nil
	case w != nil:
		r.push(w)
	}
	return ErrFull
}

// await blocks the caller, which is w, until its wait has an outcome or ctx is done.
func (r *room) await(ctx context.Context, w *roomWaiter) error {
	var alarm time.Time
	if ctx.Done() != nil {
		stop := context.AfterFunc(ctx, w.parker.Unpark)
		defer stop()
		alarm, _ = ctx.Deadline()
	}
	for {
		switch w.outcome.Load() {
		case admitted:
			return nil
		case refused:
			return ErrClosed
		}
		if ctx.Err() != nil {
			if r.leave(w) {
				return context.Cause(ctx)
			}
			continue
		}
		if f, ok := w.parker.(park.Scheduled); ok {
			f.Awaits(r)
		}
		w.parker.Park(alarm)
		if !alarm.IsZero() && !time.Now().Before(alarm) {
			alarm = time.Time{} // ctx ends at any moment
		}
	}
}

// leave ends the wait of w without a place. It returns false if the wait has an outcome already.
func (r *room) leave(w *roomWaiter) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.outcome.Load() != stillWaiting {
		return false
	}
	r.remove(w)
	return true
}

// give gives a place back. It does not block.
func (r *room) give() {
	r.mu.Lock()
	w := r.first
	if w == nil {
		r.free++
	} else {
		r.remove(w)
		w.outcome.Store(admitted)
	}
	r.mu.Unlock()
	if w != nil {
		w.parker.Unpark()
	}
}

// close refuses callers from outside from now on, those too that wait already. It does not block. It may be called again.
func (r *room) close() {
	var out []*roomWaiter
	r.mu.Lock()
	r.closed = true
	for w := r.first; w != nil; {
		next := w.next
		if !w.inside {
			r.remove(w)
			w.outcome.Store(refused)
			out = append(out, w)
		}
		w = next
	}
	r.mu.Unlock()
	for _, w := range out {
		w.parker.Unpark()
	}
}

// reopen takes close back.
func (r *room) reopen() {
	r.mu.Lock()
	r.closed = false
	r.mu.Unlock()
}

// push puts w behind the other waiters. mu must be held.
func (r *room) push(w *roomWaiter) {
	if w.previous = r.last; r.last == nil {
		r.first = w
	} else {
		r.last.next = w
	}
	r.last = w
	r.waiting.Add(1)
}

// remove takes w out of the waiters. mu must be held.
func (r *room) remove(w *roomWaiter) {
	if w.previous == nil {
		r.first = w.next
	} else {
		w.previous.next = w.next
	}
	if w.next == nil {
		r.last = w.previous
	} else {
		w.next.previous = w.previous
	}
	w.next, w.previous = nil, nil
	r.waiting.Add(-1)
}

// Awaited implements [park.Awaited], for reports of deadlocks.
func (r *room) Awaited() (string, uintptr) {
	return fmt.Sprintf("room for a task: %d wait to begin (Config.MaxQueued)", r.most), 0
}
