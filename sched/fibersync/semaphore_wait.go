package fibersync

import "fmt"

// acquire is AcquireContext.
func (s *Semaphore) acquire(n int64, u until) error {
	want := semaphoreUnits("acquire", n)
	if s.take(want) {
		return nil
	}
	if want > s.units {
		return fmt.Errorf("fibersync: acquire %d units of %d: %w", n, s.units, ErrTooMany)
	}
	w := newWaiter()
	w.note = want
	var err error
	if !s.takeOrQueue(w) {
		w.awaits((*awaitedSemaphore)(s))
		err = w.await(u)
		if err != nil && !s.giveUp(w) {
			err = w.await(until{}) // somebody is about to grant it
		}
	}
	w.free()
	return err
}

// takeOrQueue takes what w wants and returns true, or puts w in line.
func (s *Semaphore) takeOrQueue(w *waiter) bool {
	s.guard.Lock()
	defer s.guard.Unlock()
	for !s.take(w.note) {
		state := s.state.Load()
		available := state&semaphoreQueued == 0 && state >= w.note
		if !available && s.state.CompareAndSwap(state, state|semaphoreQueued) {
			s.line.push(w)
			return false
		}
	}
	return true
}

// giveUp takes w out of the line, and tells whether it stood there. It may have kept
// others from what is free: they go on.
func (s *Semaphore) giveUp(w *waiter) bool {
	s.guard.Lock()
	left := s.line.remove(w)
	var served *waiter
	if left {
		served = s.serve(s.state.Load() &^ semaphoreQueued)
	}
	s.guard.Unlock()
	grantAll(served)
	return left
}

// releaseQueued gives n units to those who wait, unless the state, in which somebody
// waited, has changed: it returns false then.
func (s *Semaphore) releaseQueued(state, n uint64) bool {
	s.guard.Lock()
	if s.state.Load() != state {
		s.guard.Unlock()
		return false
	}
	served := s.serve(state&^semaphoreQueued + n)
	s.guard.Unlock()
	grantAll(served)
	return true
}

// serve takes those out of the line who come first and have enough now, if so many
// units are free, and returns the first of them; see grantAll. The guard must be held, and
// semaphoreQueued set.
func (s *Semaphore) serve(free uint64) *waiter {
	w := s.line.first
	for ; w != nil && w.note <= free; w = w.next {
		free -= w.note
	}
	if w != nil {
		free |= semaphoreQueued
	}
	s.state.Store(free)
	return s.line.takeUntil(w)
}
