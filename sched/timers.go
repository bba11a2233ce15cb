package sched

import (
	"container/heap"
	"sync/atomic"

	"fiberlab/internal/clock"
	"fiberlab/internal/spinlock"

	"golang.org/x/sys/cpu"
)

// timer is the deadline of one wait of a fiber.
type timer struct {
	deadline clock.Instant
	fiber    *Fiber
	wait     word // which wait it ends
	position int  // in the heap, plus one; 0 if it is in none
}

// expire ends the wait that t was made for, and reports whether it did. If something else has ended that wait, expire
// does nothing. Any thread may call it on a copy that takeDue has returned.
func (t *timer) expire() bool {
	return t.fiber.endWait(^(oneWait-1)|stateMask, t.wait|word(Waiting), expired, WhyTimeout)
}

// timers are the timers of one worker's fibers. Where fibers migrate, all multi-threaded workers have one of these in
// common, and any of them adds, stops and expires timers. A worker that shares its timers with no other sleeps
// until the earliest deadline. Of workers that have them in common, one does: the watcher; see watch. A second one
// would wake in vain, and be in the way of the first. If all workers of a group compute, one of another group watches.
type timers struct {
	wakeOne func() // wakes an idle worker, if there is one, to become the watcher; nil: they are one worker's

	_    [2]cpu.CacheLinePad
	mu   spinlock.Lock // held for moments
	heap timerHeap

	_        [2]cpu.CacheLinePad
	earliest atomic.Int64 // the earliest deadline in the heap; changed with the lock held
	_        [2]cpu.CacheLinePad
	// The number plus one of the worker that sees to the earliest deadline: it sleeps until then at most, or will call
	// watch or leave. 0 is none. If there is no deadline, it means nothing.
	watcher atomic.Int64
	_       [2]cpu.CacheLinePad
}

func newTimers(wakeOne func()) *timers {
	g := &timers{wakeOne: wakeOne}
	g.earliest.Store(int64(clock.Never))
	return g
}

// next is the earliest deadline, or clock.Never. Any thread may call it.
func (g *timers) next() clock.Instant { return clock.Instant(g.earliest.Load()) }

// add starts a timer of a fiber that blocks on w. The caller runs on w, and waits for the lock alone. If the new
// deadline is the earliest, workers that sleep now sleep too long for it. So w watches it from now on: either w sleeps
// until then, or it calls leave before it runs something. Then leave wakes another worker to watch.
func (g *timers) add(w *Worker, t *timer) {
	g.mu.Lock()
	heap.Push(&g.heap, t)
	g.update()
	if t.position == 1 && g.wakeOne != nil {
		g.watcher.Store(int64(w.id + 1))
	}
	g.mu.Unlock()
}

// stop takes out a timer that add has started, unless it has expired. Any of the workers may call it: the fiber may
// have migrated. When it returns, no other thread uses t.
func (g *timers) stop(t *timer) {
	g.mu.Lock()
	if t.position > 0 {
		heap.Remove(&g.heap, t.position-1)
		g.update()
	}
	g.mu.Unlock()
}

// expire ends the waits whose deadlines have passed by that moment. A worker calls it on its thread.
func (g *timers) expire(at clock.Instant) {
	for g.next() <= at {
		if t := g.takeDue(at); t.fiber != nil {
			t.expire()
		}
	}
}

// takeDue takes out a timer whose deadline has passed by that moment, and returns a copy, or the zero timer if there is
// none. The fiber may go on for another reason before the copy is used, and use its timer for the next wait.
func (g *timers) takeDue(at clock.Instant) (due timer) {
	g.mu.Lock()
	if g.heap.next() <= at {
		due = *heap.Pop(&g.heap).(*timer)
		g.update()
	}
	g.mu.Unlock()
	return due
}

// update sets the earliest deadline. The lock must be held.
func (g *timers) update() {
	if next := g.heap.next(); next != g.next() {
		g.earliest.Swap(int64(next)) // as in package idle: a look at who sleeps follows
	}
}

// watch returns until when w is to sleep: the earliest deadline, or clock.Never if another worker watches that. Unless
// w wakes soon anyway, it must be in its idle.Set. It sets its bit there, and then looks at watcher. leave clears
// watcher, and then looks at the bits. So either w sees that the watcher has left, or leave finds w.
func (g *timers) watch(w *Worker) clock.Instant {
	me := int64(w.id + 1)
	if g.wakeOne != nil && g.next() != clock.Never && !g.watcher.CompareAndSwap(0, me) && g.watcher.Load() != me {
		return clock.Never
	}
	return g.next() // after it became the watcher: a worker that adds an earlier one watches that
}

// leave says that w runs something now. If timers in common have no watcher but w, it wakes an idle worker to watch.
func (g *timers) leave(w *Worker) {
	if g.next() == clock.Never || g.wakeOne == nil {
		return
	}
	watcher := g.watcher.Load()
	if watcher == 0 || watcher == int64(w.id+1) && g.watcher.CompareAndSwap(watcher, 0) {
		g.wakeOne()
	}
}

// wakeIdle wakes a worker, if any is idle.
func (s *Scheduler) wakeIdle() {
	for _, set := range s.sets {
		if set.WakeOne() {
			return
		}
	}
}

// timerHeap has the earliest timer first, as package heap wants it. Each timer knows its position, so that it can be
// removed.
type timerHeap []*timer

// next is the earliest deadline, or clock.Never. The lock of the timers must be held.
func (t timerHeap) next() clock.Instant {
	if len(t) == 0 {
		return clock.Never
	}
	return t[0].deadline
}

func (t timerHeap) Len() int           { return len(t) }
func (t timerHeap) Less(i, j int) bool { return t[i].deadline < t[j].deadline }
func (t timerHeap) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].position, t[j].position = i+1, j+1
}

func (t *timerHeap) Push(one any) {
	one.(*timer).position = len(*t) + 1
	*t = append(*t, one.(*timer))
}

func (t *timerHeap) Pop() any {
	last := len(*t) - 1
	one := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	one.position = 0
	return one
}
