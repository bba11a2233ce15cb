package sched

import (
	"sync/atomic"

	"golang.org/x/sys/cpu"

	"fiberlab/internal/clock"
	"fiberlab/internal/spinlock"
)

// groupTimers are the timers of fibers that may migrate, for the workers that share these fibers. Each worker has a
// heap: a timer lies in that of the worker on which its fiber has blocked, so workers that block fibers at the same
// time take different locks. The fiber may go on on another worker, and any worker that polls or wakes expires what is
// due, in whichever heap it lies.
//
// A worker that sleeps does so until the earliest deadline of all heaps. One of them at least must: see watch.
type groupTimers struct {
	heaps   []workerTimers
	first   int    // the number of the worker that has heaps[0]; the others follow
	wakeOne func() // wakes a worker of the group, to sleep until another deadline

	_        [2]cpu.CacheLinePad
	earliest atomic.Int64 // the earliest deadline of all heaps, see settle
	_        [2]cpu.CacheLinePad
	watcher  atomic.Int64 // the number plus one of a worker that sleeps until then; 0: perhaps none
	_        [2]cpu.CacheLinePad
}

// workerTimers is the heap of one worker.
type workerTimers struct {
	group  *groupTimers
	mu     spinlock.Lock // held for moments, also while the word of a fiber changes
	timers timers
	next   atomic.Int64 // the earliest deadline in timers; changed with the lock held
	_      [2]cpu.CacheLinePad
}

// noTimers is what a worker has that shares no fibers. It stays empty.
var noTimers = newGroupTimers(0, 0, nil)

// shareTimers gives workers, whose numbers follow one another, the timers of the fibers that they share. wakeOne wakes
// one of them, if any sleeps. It must be called before the workers run.
func shareTimers(workers []*Worker, wakeOne func()) {
	if len(workers) == 0 {
		return
	}
	g := newGroupTimers(workers[0].id, len(workers), wakeOne)
	for _, w := range workers {
		w.timers = g
	}
}

// newGroupTimers makes those of n workers, whose numbers begin with first.
func newGroupTimers(first, n int, wakeOne func()) *groupTimers {
	g := &groupTimers{heaps: make([]workerTimers, n), first: first, wakeOne: wakeOne}
	g.earliest.Store(int64(clock.Never))
	for i := range g.heaps {
		h := &g.heaps[i]
		h.group = g
		h.next.Store(int64(clock.Never))
	}
	return g
}

// next is the earliest deadline, or clock.Never.
func (g *groupTimers) next() clock.Instant { return clock.Instant(g.earliest.Load()) }

// add starts a timer of a fiber that blocks on w, which the caller runs on. It does not block.
func (g *groupTimers) add(w *Worker, t *timer) {
	h := &g.heaps[w.id-g.first]
	t.lies = h
	h.mu.Lock()
	h.timers.add(t)
	first := t.position == 1
	h.update()
	h.mu.Unlock()
	if first {
		g.lower(int64(t.deadline), w)
	}
}

// stop takes a timer out that add has started, unless it has run out. Any worker may call it: the fiber may have
// migrated, even to another group. When it returns, no other thread uses t.
func (t *timer) stop() {
	h := t.lies
	h.mu.Lock()
	first := t.position == 1
	if t.position > 0 {
		h.timers.remove(t)
		h.update()
	}
	h.mu.Unlock()
	if first && t.deadline == h.group.next() {
		h.group.settle()
	}
}

// expire ends the waits whose deadlines have passed by that moment: first those in the heap of w, which the caller runs
// on, and then those of workers that have not come to it themselves.
func (g *groupTimers) expire(w *Worker, at clock.Instant) {
	own := w.id - g.first
	w.endWaits(g.heaps[own:], at)
	w.endWaits(g.heaps[:own], at)
	g.settle()
}

// endWaits ends the waits of some heaps.
func (w *Worker) endWaits(heaps []workerTimers, at clock.Instant) {
	for i := range heaps {
		for h := &heaps[i]; clock.Instant(h.next.Load()) <= at; {
			f, sleeper := h.expireOne(at)
			if sleeper != nil {
				sleeper.driver.notify()
			}
			if f == nil {
				continue
			}
			var looking *Worker
			if w.local.looking {
				looking, w.local.looking = w, false // it takes one
			}
			w.scheduler.migration.ready(f, looking)
		}
	}
}

// expireOne takes a timer out whose deadline has passed, if there is one, and ends its wait. It returns the fiber if
// the caller has to queue it, or its worker if the caller has to wake that.
func (h *workerTimers) expireOne(at clock.Instant) (ready *Fiber, wake *Worker) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.timers.take(at)
	h.update()
	if t == nil {
		return nil, nil
	}
	over, wake := t.expire()
	if over {
		ready = t.fiber
	}
	return ready, wake
}

// update notes the earliest deadline. The lock must be held.
func (h *workerTimers) update() {
	if next := int64(h.timers.next()); next != h.next.Load() {
		h.next.Swap(next) // before a look at earliest, as in eventcount
	}
}

// Any thread may read earliest at any time. If it stayed later than a timer's deadline, the deadline would be missed;
// if it stayed earlier, workers would wake in vain. A thread that has changed the next of a heap looks at earliest
// afterwards: add lowers it for a new timer, and settles it if another thread has taken that out meanwhile; stop and
// expire settle it once the earliest timer is gone. While settle visits the heaps, a timer may be added to one that it
// has passed; and add may still find the old value, which is early enough for it. So settle visits the heaps once more
// after each change, until it finds no difference.

// lower says that there is a timer with that deadline. Workers that sleep would sleep too long if it is the earliest.
// But w, which the caller runs on, is about to sleep itself, or to call leave.
func (g *groupTimers) lower(deadline int64, w *Worker) {
	for old := g.earliest.Load(); deadline < old; old = g.earliest.Load() {
		if g.earliest.CompareAndSwap(old, deadline) {
			g.watcher.Store(int64(w.id + 1))
			if g.heaps[w.id-g.first].next.Load() != deadline { // the timer has run out meanwhile
				g.settle()
			}
			return
		}
	}
}

// settle makes earliest what the heaps say.
func (g *groupTimers) settle() {
	for {
		old, next := g.earliest.Load(), int64(clock.Never)
		for i := range g.heaps {
			next = min(next, g.heaps[i].next.Load())
		}
		if next == old {
			return
		}
		if g.earliest.CompareAndSwap(old, next) && next < old {
			g.rewatch()
		}
	}
}

// rewatch wakes a worker to watch a deadline that has become the earliest: the others would sleep too long.
func (g *groupTimers) rewatch() {
	g.watcher.Store(0)
	g.wakeOne()
}

// watch says that w is about to sleep until the earliest deadline. It must read that deadline afterwards: if that
// becomes earlier meanwhile, either w sees it, or a worker is woken for it.
func (g *groupTimers) watch(w *Worker) {
	if g.next() != clock.Never {
		g.watcher.Store(int64(w.id + 1))
	}
}

// leave says that w runs something, and does not sleep. If no other worker may be watching, one is woken to do so.
func (g *groupTimers) leave(w *Worker) {
	if g.next() == clock.Never {
		return
	}
	watcher := g.watcher.Load()
	if watcher == 0 || watcher == int64(w.id+1) && g.watcher.CompareAndSwap(watcher, 0) {
		g.wakeOne()
	}
}
