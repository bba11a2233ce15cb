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
	w := newWaiter(nil)
	w.tag = want
	var err error
	if !s.takeOrQueue(w) {
		w.what = (*awaitedSemaphore)(s)
		err = w.await(u)
		if err != nil && !s.giveUp(w) {
			err = w.await(until{}) // it has been taken out, and its hand-off is under way
		}
	}
	w.free()
	return err
}

// takeOrQueue takes what w wants and returns true, or puts w in the queue.
func (s *Semaphore) takeOrQueue(w *waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.take(w.tag) {
		state := s.state.Load()
		available := state&semaphoreQueued == 0 && state >= w.tag
		if !available && s.state.CompareAndSwap(state, state|semaphoreQueued) {
			s.waiters.push(w)
			return false
		}
	}
	return true
}

// giveUp takes w out of the queue, and reports whether it was there. w may have kept others from
// free units: they get them now.
func (s *Semaphore) giveUp(w *waiter) bool {
	s.mu.Lock()
	left := s.waiters.remove(w)
	var served *waiter
	if left {
		served = s.serve(s.state.Load() &^ semaphoreQueued)
	}
	s.mu.Unlock()
	handOffAll(served)
	return left
}

// releaseQueued gives n units to waiters. If the state, in which there were waiters, has
// changed, it does nothing and returns false.
func (s *Semaphore) releaseQueued(state, n uint64) bool {
	s.mu.Lock()
	if s.state.Load() != state {
		s.mu.Unlock()
		return false
	}
	served := s.serve(state&^semaphoreQueued + n)
	s.mu.Unlock()
	handOffAll(served)
	return true
}

// serve takes the waiters at the front out of the queue whose units are free, and returns the
// first of them; see handOffAll. The caller holds mu, and semaphoreQueued is set.
func (s *Semaphore) serve(free uint64) *waiter {
	w := s.waiters.first
	for ; w != nil && w.tag <= free; w = w.next {
		free -= w.tag
	}
	if w != nil {
		free |= semaphoreQueued
	}
	s.state.Store(free)
	return s.waiters.takeUntil(w)
}
