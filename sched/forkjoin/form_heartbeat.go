package forkjoin

import (
	"runtime"
	"unsafe"
)

// heartbeat is the form in which a strand keeps its forks where no other thread may touch them, so that a fork costs no atomic operation. Now and
// then, at the beat, it hands out its oldest fork, if a worker has nothing to do.
//
//	strand 0   forks  [ j1 | j4 | j7 ]  only strand 0      at the beat: j1 -> queue
//	strand 1   forks  [ j2 ]            only strand 1
//	queue      [ ... ]                  what has been handed out or submitted, for all strands
//
// All cost of sharing comes once a beat, however small the tasks are; see lingering for what beats. What a future leads to is in the queue from the beginning, since others may
// ask for it; and so are all forks of a strand that parks.
type heartbeat struct {
	pool  *shared
	queue jobQueue
	lingering
}

func newHeartbeat(p *shared) (*heartbeat, error) {
	if err := beatStart(p.cfg.Beat); err != nil {
		return nil, err
	}
	return &heartbeat{pool: p, lingering: lingering{most: int64(runtime.GOMAXPROCS(0) / 2)}}, nil
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
	if j := h.queue.next(); j != nil {
		return j
	}
	return h.linger(s)
}

func (h *heartbeat) waiting() bool { return !h.queue.empty() }

// wanted tells whether a worker would take a fork at once: there is one with nothing to do, and nothing that it could take already.
func (h *heartbeat) wanted() bool {
	return h.queue.empty() && (h.lingerers.Load() > 0 || h.pool.wanted())
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
	h.strands.Add(1)
	h.listen()
}

func (h *heartbeat) leave(s *strand) {
	h.publish(s)
	if s.hooked {
		h.strands.Add(-1)
		h.listen()
	}
}

// fewer implements form.
func (h *heartbeat) fewer() { h.listen() }

func (*heartbeat) close() {}

func (h *heartbeat) end() { beatStop(h.pool.cfg.Beat) }
