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
// much for a short fork. So a drainer has a pulse: it takes at most one fork each beat, and the next one at once
// after a fork that took a third of a beat. All cost of sharing comes once a beat, however small the tasks are.
// While forks take longer than that, there is no pause.
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
	if s.rests > 0 && clock.Now() < s.rests {
		return nil
	}
	h.pool.atWork.others(s, rand.Uint(), func(victim *strand) bool {
		j = victim.take(true)
		return j != nil
	})
	if j != nil {
		h.pool.handed.Add(1)
		s.stole = true
	}
	return j
}

func (h *heartbeat) submitted() bool { return !h.queue.empty() }

func (h *heartbeat) waiting() bool {
	has := func() bool { return h.pool.atWork.others(nil, 0, (*strand).hasForks) }
	return h.submitted() || has() || h.pool.atWork.len() > 0 && barrier() && has()
}

// publish moves all forks of s to the queue.
func (h *heartbeat) publish(s *strand) {
	for j := s.take(false); j != nil; j = s.take(false) {
		h.pool.handed.Add(1)
		h.queue.push(j)
	}
}
