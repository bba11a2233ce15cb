package sched

import (
	"sync"
	"sync/atomic"

	"fiberlab/internal/clock"
)

// sharedTimers are those of fibers that may migrate: such a fiber may wait on one worker and go on on another, and
// any worker that is free sees to its deadline.
type sharedTimers struct {
	mu       sync.Mutex // held for moments, also while the word of a fiber changes
	timers   timers
	earliest atomic.Int64 // the next deadline, to be read without the lock
	watcher  atomic.Int64 // the number plus one of a worker that sleeps until then; 0: perhaps none
	wakeOne  func()       // wakes a worker, to sleep until another deadline
}

func (s *sharedTimers) init(wakeOne func()) {
	s.wakeOne = wakeOne
	s.earliest.Store(int64(clock.Never))
}

// next is the earliest deadline, or clock.Never.
func (s *sharedTimers) next() clock.Instant { return clock.Instant(s.earliest.Load()) }

// add starts a timer. Workers that sleep would sleep too long if it is the earliest.
func (s *sharedTimers) add(t *timer) {
	s.mu.Lock()
	s.timers.add(t)
	earliest := t.position == 1
	s.earliest.Store(int64(s.timers.next()))
	s.mu.Unlock()
	if earliest {
		s.watcher.Store(0) // it would sleep too long
		s.wakeOne()
	}
}

// remove ends a timer, unless it has run out.
func (s *sharedTimers) remove(t *timer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.position > 0 {
		s.timers.remove(t)
		s.earliest.Store(int64(s.timers.next()))
	}
}

// expire ends the waits whose deadlines have passed.
func (s *sharedTimers) expire(at clock.Instant, m migration) {
	for {
		s.mu.Lock()
		t := s.timers.take(at)
		s.earliest.Store(int64(s.timers.next()))
		ended := t != nil && t.expire()
		s.mu.Unlock()
		switch {
		case t == nil:
			return
		case ended:
			m.ready(t.fiber)
		}
	}
}

// watch says that w is about to sleep until the earliest deadline.
func (s *sharedTimers) watch(w *Worker) {
	if s.next() != clock.Never {
		s.watcher.Store(int64(w.id + 1))
	}
}

// leave says that w has work. If no other worker may be watching, one is woken to do so.
func (s *sharedTimers) leave(w *Worker) {
	if s.next() == clock.Never {
		return
	}
	watcher := s.watcher.Load()
	if watcher == 0 || watcher == int64(w.id+1) && s.watcher.CompareAndSwap(watcher, 0) {
		s.wakeOne()
	}
}
