package sched

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"fiberlab/internal/clock"
	"fiberlab/internal/spinlock"
	"fiberlab/sched/park"

	"golang.org/x/sys/cpu"
)

// room limits how many tasks of a scheduler wait to begin; see Config.MaxQueued. A caller takes a place before it
// queues a task, and the worker that begins the task gives the place back. If callers wait, free places are handed off
// to the first of them, several at once where there are many; no later caller overtakes.
type room struct {
	most int // how many places there are
	// how many must be free before callers that wait get any: to let one caller go on for each place costs a switch, or
	// a wake-up, a task
	batch int
	share int           // how many a worker may keep to give them back at once
	limit time.Duration // how long a caller waits at most; 0: as long as it takes

	_           [2]cpu.CacheLinePad // workers read what is above at each task, and callers write what is below
	mu          spinlock.Lock
	free        int
	overload    overload
	closed      bool         // callers from outside get no place
	first, last *roomWaiter  // in the order of their arrival
	waiting     atomic.Int64 // how many they are, to be read without mu
}

// roomWaiter is a caller that waits for a place.
type roomWaiter struct {
	parker         park.Parker
	inside         bool          // it is a task of the scheduler, or a blocking call of one
	began          time.Time     // when the wait did
	watches        bool          // it is to set the timer of the room's overload
	outcome        atomic.Uint64 // one of the constants below; changed with mu held
	next, previous *roomWaiter
}

// The outcomes of a wait for a place.
const (
	stillWaiting = iota
	admitted     // it has the place
	refused      // the scheduler is being closed
)

// newRoom makes the room that cfg, which has its defaults, describes.
func newRoom(cfg *Config) *room {
	most := cfg.MaxQueued
	return &room{most: most, free: most, limit: cfg.OverloadAfter,
		batch:    min(max(most/16, 1), largestBatch),
		share:    min(max(most/64/max(cfg.Workers, 1), 1), largestShare),
		overload: overload{tell: cfg.Overloaded, every: overloadEvery}}
}

// Bounds of room.batch and room.share.
const (
	largestBatch = 4096
	largestShare = 64
)

// place is take for a task, and returns hasRoom, the flag of a task that has a place. With noRoom it returns no flag in
// the place of ErrFull.
func (r *room) place(ctx context.Context, inside bool) (Flags, error) {
	beyond := ctx == noRoom
	if beyond {
		ctx = noWait
	}
	err := r.take(ctx, inside)
	switch {
	case err == nil:
		return hasRoom, nil
	case beyond && errors.Is(err, ErrFull):
		return 0, nil
	}
	return 0, err
}

// take gets the caller a place. If there is none, it blocks the caller until there is. It gives up when ctx is done,
// and returns context.Cause(ctx), or when the caller has waited for the room's limit, and returns an error that wraps
// ErrOverload. With noWait it returns ErrFull at once instead. A free place is taken even if ctx is done. It returns
// ErrClosed to a caller from outside once the room is closed.
func (r *room) take(ctx context.Context, inside bool) error {
	_, err := r.takeSome(ctx, inside, 1)
	return err
}

// takeSome is take of up to n places: of as many as are free or, if none is, of one, for which the caller waits. It
// returns how many the caller has got.
func (r *room) takeSome(ctx context.Context, inside bool, n int) (int, error) {
	got, err := r.admit(inside, n, nil)
	if ctx == noWait || !errors.Is(err, ErrFull) {
		return got, err
	}
	w := &roomWaiter{parker: park.Current(), inside: inside, began: time.Now()}
	if w.parker == nil {
		w.parker = park.NewGoroutine()
	}
	if got, err := r.admit(inside, n, w); !errors.Is(err, ErrFull) {
		return got, err
	}
	if w.watches {
		time.AfterFunc(r.overload.every, r.look)
	}
	if err := r.await(ctx, w); err != nil {
		return 0, err
	}
	return 1, nil
}

// noWait stands for a context whose waits end before they begin. noRoom does so too, and its caller needs no place.
var (
	noWait context.Context
	noRoom context.Context = withoutRoom{}
)

// withoutRoom is the type of noRoom.
type withoutRoom struct{ context.Context }

// admit takes up to n places for the caller, at least one, and returns how many; or it returns ErrClosed or ErrFull. In
// the last case w, unless it is nil, waits for one from now on.
func (r *room) admit(inside bool, n int, w *roomWaiter) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed && !inside:
		return 0, ErrClosed
	case r.free > 0 && r.first == nil:
		n = min(n, r.free)
		r.free -= n
		return n, nil
	case w != nil:
		r.push(w)
		w.watches = r.overload.begin(clock.At(w.began))
	}
	return 0, ErrFull
}

// await blocks the caller, which is w, until its wait has an outcome, or it gives up.
func (r *room) await(ctx context.Context, w *roomWaiter) error {
	u := park.Until{Context: ctx}
	if r.limit > 0 {
		u.Deadline = w.began.Add(r.limit)
	}
	err := u.Await(w.parker, &w.outcome, r)
	switch {
	case err != nil && r.leave(w):
		if err != park.ErrDeadline {
			return err
		}
		return fmt.Errorf("waited %v for room, and %d still wait to begin (Config.MaxQueued): %w",
			time.Since(w.began).Round(time.Microsecond), r.most, ErrOverload)
	case w.outcome.Load() == refused:
		return ErrClosed
	}
	return nil
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

// give gives n places back. It does not block.
func (r *room) give(n int) {
	var out []*roomWaiter
	r.mu.Lock()
	r.free += n
	if r.free >= r.batch {
		for ; r.free > 0 && r.first != nil; r.free-- {
			w := r.first
			r.remove(w)
			w.outcome.Store(admitted)
			out = append(out, w)
		}
	}
	if r.free > 0 && r.first == nil {
		r.overload.full = false
	}
	r.mu.Unlock()
	for _, w := range out {
		w.parker.Unpark()
	}
}

// close refuses callers from outside from now on, those too that wait already. It does not block. It may be called
// again.
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

// overloadEvery is how long a room must have been full before Config.Overloaded is told, and the least time between two
// reports.
const overloadEvery = time.Second

// overload is what a room needs to tell that it stays full. The room's mu guards it.
//
// No thread waits for the moment to tell: a timer of the Go runtime looks at the room. A caller that has to wait sets
// the timer if it is not set. After each look it is set again if callers wait.
type overload struct {
	tell    func(waiting int, since time.Duration)
	every   time.Duration // overloadEvery; tests change it
	full    bool          // there has been no free place since a caller began to wait
	since   clock.Instant // when that was
	set     bool          // the timer is set
	due     clock.Instant // when it looks, if it is set
	telling bool          // tell is being called
}

// begin notes that a caller waits from now on. It reports whether that caller must set the timer. The room's mu must be
// held.
func (o *overload) begin(now clock.Instant) (set bool) {
	if !o.full {
		o.full, o.since = true, now
	}
	// A timer that is far from due may never look: it was set in a bubble of testing/synctest, which has another clock.
	every := clock.Instant(o.every)
	if o.set && o.due-every <= now && now <= o.due+every {
		return false
	}
	o.set, o.due = true, now+every
	return true
}

// look tells of the overload if the room has been full for long enough, and sets the timer again if callers wait.
func (r *room) look() {
	o, now := &r.overload, clock.Now()
	r.mu.Lock()
	if o.telling || now < o.due {
		r.mu.Unlock()
		return // another timer is set
	}
	waiting, full, next := int(r.waiting.Load()), time.Duration(now-o.since), o.every
	switch {
	case waiting == 0:
		o.set = false
		r.mu.Unlock()
		return
	case full < o.every:
		next -= full
	default:
		o.telling = true
		r.mu.Unlock()
		o.tell(waiting, full)
		r.mu.Lock()
		o.telling = false
	}
	o.due = clock.Now() + clock.Instant(next)
	r.mu.Unlock()
	time.AfterFunc(next, r.look)
}

// reportOverload returns the function that takes the place of Config.Overloaded: it writes a line to stderr.
func reportOverload(cfg *Config) func(waiting int, since time.Duration) {
	name, most := cfg.Name, cfg.MaxQueued
	return func(waiting int, since time.Duration) {
		fmt.Fprintf(
			os.Stderr,
			"fiberlab: %s has been full for %v: %d callers wait to enqueue a task, and %d tasks wait to begin "+
				"(Config.MaxQueued): enqueue fewer tasks at a time, or configure more room or more workers\n",
			name, since.Round(time.Millisecond), waiting, most,
		)
	}
}
