package forkjoin

import "unsafe"

// heartbeat is the form in which a strand keeps its forks where no other thread may touch them, so that a fork costs no atomic operation. Now and
// then, at the beat, it hands out its oldest fork, if a worker has nothing to do.
//
//	strand 0   forks  [ j1 | j4 | j7 ]  only strand 0      at the beat: j1 -> queue
//	strand 1   forks  [ j2 ]            only strand 1
//	queue      [ ... ]                  what has been handed out or submitted, for all strands
//
// All cost of sharing comes once a beat, however small the tasks are. What a future leads to is in the queue from the beginning, since others may
// ask for it; and so are all forks of a strand that parks.
type heartbeat struct {
	pool  *shared
	queue jobQueue
}

func newHeartbeat(p *shared) (*heartbeat, error) {
	if err := beatStart(p.cfg.Beat); err != nil {
		return nil, err
	}
	return &heartbeat{pool: p}, nil
}

func (h *heartbeat) submit(s *strand, j *job) {
	if s != nil {
		h.publish(s)
	}
	h.hand(s, j)
}

func (h *heartbeat) hand(_ *strand, j *job) {
	h.queue.push(j)
	h.pool.start()
}

func (h *heartbeat) takeBack(_ *strand, j *job) bool {
	if !j.body.claim() {
		return false
	}
	h.queue.remove(j)
	return true
}

func (h *heartbeat) next(s *strand) *job {
	if s.surplus() {
		return nil
	}
	return h.queue.next()
}

func (h *heartbeat) waiting() bool { return !h.queue.empty() }

// wanted tells whether a worker would take a fork at once: there is one with nothing to do, and nothing that it could take already.
func (h *heartbeat) wanted() bool {
	return h.queue.empty() && h.pool.wanted()
}

// publish hands out all forks of s.
func (h *heartbeat) publish(s *strand) {
	for s.handOne() {
		h.pool.handed.Add(1)
	}
}

func (h *heartbeat) enter(s *strand) {
	if !s.hooked {
		return // what a goroutine forks is handed out at once
	}
	s.beat, s.seen = (*uint32)(unsafe.Pointer(beats)), beats.Load()
	busy()
}

func (h *heartbeat) leave(s *strand) {
	h.publish(s)
	if s.hooked {
		idle()
	}
}

func (*heartbeat) close() {}

func (h *heartbeat) end() { beatStop(h.pool.cfg.Beat) }
