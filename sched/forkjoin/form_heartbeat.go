package forkjoin

import (
	"math/rand/v2"

	"fiberlab/internal/clock"
)

// heartbeat is the form in which each strand has lists of its forks, which it pushes and pops without an atomic
// read-modify-write and without a fence; see list. A drainer that has nothing to do takes the oldest fork of
// another strand.
//
//	strand 0   forks  [ j1 | j4 | j7 ]  push and pop at the right      drainer: takes j1
//	strand 1   forks  [ j2 ]
//	queue      [ ... ]                  what has been submitted, and the forks of strands that have parked
//
// To take a fork costs some microseconds, also to the strand that has lost it and waits for the result. That is
// much for a short fork. So a drainer takes a fork that has been there for a beat, if it can wait for that; see watch.
// So all cost of sharing comes once a beat, however small the tasks are. While forks take longer than that, drainers
// take them at once.
type heartbeat struct {
	pool  *shared
	queue jobQueue
}

func (h *heartbeat) submit(_ *strand, j *job) {
	h.queue.push(j)
	h.pool.call()
}

func (h *heartbeat) takeBack(_ *strand, j *job) bool {
	if !j.body.claim() {
		return false
	}
	h.queue.remove(j)
	return true
}

func (h *heartbeat) next(s *strand) (j *job) {
	if j = h.queue.next(); j != nil {
		return j
	}
	w := &s.watch
	w.begin(h.pool.long.Load())
	h.pool.atWork.others(s, rand.Uint(), func(victim *strand) bool {
		j = victim.take(w)
		return j != nil
	})
	if j == nil {
		w.end()
		return nil
	}
	h.pool.handed.Add(1)
	s.stole = true
	return j
}

// ranStolen is told that s has run a fork of another strand, and how long that took. Those that are left are taken for
// as long.
func (s *strand) ranStolen(took clock.Instant) {
	s.stole, s.watch.list = false, nil
	if long := took >= s.watch.beat; long != s.pool.long.Load() {
		s.pool.long.Store(long)
	}
}

func (h *heartbeat) submitted() bool { return !h.queue.empty() }

func (h *heartbeat) waiting() bool {
	has := func() bool { return h.pool.atWork.others(nil, 0, (*strand).hasForks) }
	return h.submitted() || has() || h.pool.atWork.len() > 0 && barrier() && has()
}

// publish moves all forks of s to the queue.
func (h *heartbeat) publish(s *strand) {
	for j := s.take(nil); j != nil; j = s.take(nil) {
		h.pool.handed.Add(1)
		h.queue.push(j)
	}
}
