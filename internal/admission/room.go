// Package admission limits how many things may wait for something: tasks, for example, that have been queued and not
// begun. Each takes a place in a [Room] before it waits, and the place is free when it waits no longer. A caller
// that finds no free place can wait for one. Callers get places in the order of their arrival.
//
// Any thread takes places, under a small lock. Few threads free them, at each task that begins, and only count that:
// see [Room.AddCount]. The room adds the counts up when it has no place left.
//
// A place that becomes free while callers wait is not handed on at once: to resume a caller for each place would cost
// one switch or wake-up per task. A thread hands places on when it has counted a batch, and when it has nothing else to
// do. A timer does so every millisecond; it runs only while callers wait. So no wake-up is lost: a caller that a thread
// has overlooked gets its place from the timer.
package admission

import (
	"container/list"
	"slices"
	"sync/atomic"
	"time"

	"fiberlab/internal/clock"
	"fiberlab/internal/spinlock"
	"fiberlab/sched/park"

	"golang.org/x/sys/cpu"
)

// Room is a limited number of places. A nil Room is none: Look and RemoveCount do nothing.
type Room struct {
	places int
	full   error  // of a caller for which no place is free
	over   error  // of a caller from outside when the room is closed
	batch  uint64 // how many places a thread frees before it hands them on; a power of 2

	_       [2]cpu.CacheLinePad // threads that count read waiting; callers write what follows it
	waiting atomic.Int64        // how many callers wait; changed with mu held
	_       [2]cpu.CacheLinePad

	mu     spinlock.Lock
	free   int       // places, without those freed since collect; less than 0 after Exceed
	counts []count   // of the threads that free places
	closed bool      // callers from outside get no place
	queue  list.List // of *waiter, in the order of their arrival

	due atomic.Int64 // when the timer that is set runs, a clock.Instant; 0: none is set
}

// count is how many places a thread has freed.
type count struct {
	freed     *atomic.Uint64
	collected uint64 // how many of them the room has counted as free
}

// waiter is a caller that waits for a place.
type waiter struct {
	park.Parker
	inside  bool
	outcome atomic.Uint64 // one of the constants below; changed with the room's mu held
	at      *list.Element
}

// The outcomes of a wait.
const (
	stillWaiting = iota
	admitted     // it has a place
	refused      // the room has been closed
)

const (
	lookEvery    = time.Millisecond // how often the timer looks for free places
	lostAfter    = time.Second      // a timer that is this far from due is taken for lost
	largestBatch = 4096
)

// New makes a room with that many places. full is TryTake's error if no place is free. over is the error of a caller
// from outside if the room is closed. The more threads are to count, the smaller is the batch of each: all batches
// together keep at most a sixteenth of the places from callers that wait.
func New(places, threads int, full, over error) *Room {
	r := &Room{places: places, full: full, over: over, free: places, batch: largestBatch}
	for r.batch > 1 && r.batch*16*uint64(max(threads, 1)) > uint64(places) {
		r.batch /= 2
	}
	return r
}

// TryTake takes a free place. It returns New's full if none is free, or if callers wait, who come first. If the room is
// closed, it returns New's over, unless inside is true: Close refuses no caller inside of a task. It does not block.
func (r *Room) TryTake(inside bool) error {
	r.mu.Lock()
	err := r.take(inside)
	r.mu.Unlock()
	return err
}

// take is TryTake with mu held.
func (r *Room) take(inside bool) error {
	switch {
	case r.closed && !inside:
		return r.over
	case r.queue.Len() > 0:
		return r.full
	case r.free <= 0:
		if r.collect(); r.free <= 0 {
			return r.full
		}
	}
	r.free--
	return nil
}

// Exceed takes a place, even if none is free: others get one only when fewer things wait than there are places. It does
// not block.
func (r *Room) Exceed() { r.handOn(-1) }

// Take is TryTake, but waits where that returns full. It blocks the calling fiber or goroutine. If until ends the wait,
// it returns until's error; if Close does, New's over. If the caller must not park, it returns the error of CanPark
// instead of waiting. what, if not nil, describes the wait in deadlock reports.
func (r *Room) Take(inside bool, until park.Until, what park.Awaited) error {
	w := &waiter{Parker: park.Current(), inside: inside}
	if w.Parker == nil {
		w.Parker = park.NewGoroutine()
	}
	r.mu.Lock()
	err := r.take(inside)
	wait := err == r.full
	if wait {
		if err = w.CanPark(); err == nil {
			w.at = r.queue.PushBack(w)
			r.waiting.Add(1)
		}
	}
	r.mu.Unlock()
	if !wait || err != nil {
		return err
	}
	r.setTimer()
	if err := until.Await(w.Parker, &w.outcome, what); err != nil && r.leave(w) {
		return err
	}
	if w.outcome.Load() == refused {
		return r.over
	}
	return nil
}

// leave ends the wait of w, which gives up. It returns false if the wait has an outcome already. It locks mu.
func (r *Room) leave(w *waiter) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.outcome.Load() != stillWaiting {
		return false
	}
	r.remove(w)
	return true
}

// Empty reports whether no place is taken, and no caller waits for one.
func (r *Room) Empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.collect()
	return r.free == r.places && r.queue.Len() == 0
}

// Waiting is how many callers wait for a place.
func (r *Room) Waiting() int { return int(r.waiting.Load()) }

// Give frees a place that its taker has not used, and hands it on. Any thread may call it. It does not block.
func (r *Room) Give() { r.handOn(1) }

// Close has the room refuse callers that are not inside, until Reopen. It refuses such callers that wait now, too. Any
// thread may call it, also more than once. It does not block.
func (r *Room) Close() {
	var out []*waiter
	r.mu.Lock()
	r.closed = true
	for at := r.queue.Front(); at != nil; {
		w := at.Value.(*waiter)
		if at = at.Next(); !w.inside {
			r.remove(w)
			w.outcome.Store(refused)
			out = append(out, w)
		}
	}
	r.mu.Unlock()
	unpark(out)
}

// Reopen undoes Close: from now on, callers from outside get places again. Any thread may call it.
func (r *Room) Reopen() {
	r.mu.Lock()
	r.closed = false
	r.mu.Unlock()
}

// handOn adds more, perhaps less than 0, to the free places. Then it gives free ones to waiting callers. It locks mu.
func (r *Room) handOn(more int) {
	var out []*waiter
	r.mu.Lock()
	r.free += more
	for r.collect(); r.free > 0 && r.queue.Len() > 0; r.free-- {
		w := r.queue.Front().Value.(*waiter)
		r.remove(w)
		w.outcome.Store(admitted)
		out = append(out, w)
	}
	r.mu.Unlock()
	unpark(out)
}

// remove takes w out of the callers that wait. mu must be held.
func (r *Room) remove(w *waiter) {
	r.queue.Remove(w.at)
	r.waiting.Add(-1)
}

// unpark wakes callers whose waits have ended. mu must not be held.
func unpark(callers []*waiter) {
	for _, w := range callers {
		w.Unpark()
	}
}

// collect adds to free the places that threads have freed since the last collect. mu must be held.
func (r *Room) collect() {
	for i := range r.counts {
		c := &r.counts[i]
		freed := c.freed.Load()
		r.free += int(freed - c.collected)
		c.collected = freed
	}
}

// setTimer sets the timer if callers wait and none is set. A caller counts itself in waiting before it calls setTimer,
// and tick clears due before it calls setTimer. So at least one of the two sets the timer.
func (r *Room) setTimer() {
	now, due := int64(clock.Now()), r.due.Load()
	// A timer that is far from due may never run: it was set in a bubble of testing/synctest, which has another clock.
	isSet := due != 0 && max(due-now, now-due) < int64(lostAfter)
	if r.waiting.Load() > 0 && !isSet && r.due.CompareAndSwap(due, now+int64(lookEvery)) {
		time.AfterFunc(lookEvery, r.tick)
	}
}

// tick is what the timer does: it hands free places on, and sets the timer again if callers still wait.
func (r *Room) tick() {
	if int64(clock.Now()) < r.due.Load() {
		return // due is when a later timer runs
	}
	r.due.Swap(0)
	r.handOn(0)
	r.setTimer()
}

// AddCount begins to count the places that a thread frees. For each place the thread adds one to freed, which is 0 now,
// and calls Counted. Or it adds many at once and calls Look. Any thread may call AddCount.
func (r *Room) AddCount(freed *atomic.Uint64) {
	r.mu.Lock()
	r.counts = append(r.counts, count{freed: freed})
	r.mu.Unlock()
}

// Counted is called by a thread that has added one to its count, which is n now. It hands places on at the end of each
// batch. It does not block.
func (r *Room) Counted(n uint64) {
	if n&(r.batch-1) == 0 {
		r.Look()
	}
}

// Look hands free places on if callers wait. A thread that counts calls it when it is about to block, too. It does not
// block.
func (r *Room) Look() {
	if r != nil && r.waiting.Load() > 0 {
		r.handOn(0)
	}
}

// RemoveCount ends a count that does not grow any more. The places that it has freed stay free. Any thread may call it.
func (r *Room) RemoveCount(freed *atomic.Uint64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.collect()
	r.counts = slices.DeleteFunc(r.counts, func(c count) bool { return c.freed == freed })
	r.mu.Unlock()
}
