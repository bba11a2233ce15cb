package uring

import "fiberlab/internal/queue"

// Request is one operation, from the moment when it is handed to an engine until its last completion. Its maker keeps
// what it points to alive, and in its place, for that long.
type Request struct {
	Entry

	// Completed is called on the engine's thread for each completion, and must not block. After a completion whose More
	// returns false, the request is over.
	Completed func(Completion)

	// Internal requests, such as requests to cancel others, do not keep a context from stopping.
	Internal bool

	Ending bool // an engine that ends need not cancel it: that is under way, or it is a cancellation

	Cancels *Request // for OpCancel: the request to end. Its maker must not submit it again before this one is over

	message queue.Message[*Request] // for the mailbox of the engine
}

// counted is how much r adds to submitted and running, which keep a context from stopping: 0 if internal, else 1.
func (r *Request) counted() int64 {
	if r.Internal {
		return 0
	}
	return 1
}

// table has the requests that are under way. A completion finds its request by a number that is not used again soon.
// After the request is over, that number finds none. For the engine's thread only.
type table struct {
	slots []slot
	free  []uint32
}

type slot struct {
	request *Request
	uses    uint32 // part of the request's number
}

const usesMask = 1<<31 - 1 // the proxy has numbers with the highest bit set for itself

// add gives r its number.
func (t *table) add(r *Request) {
	if len(t.free) == 0 {
		t.free = append(t.free, uint32(len(t.slots)))
		t.slots = append(t.slots, slot{})
	}
	i := t.free[len(t.free)-1]
	t.free = t.free[:len(t.free)-1]
	s := &t.slots[i]
	s.request = r
	s.uses = (s.uses + 1) & usesMask
	r.id = uint64(s.uses)<<32 | uint64(i)
}

// find returns the request of that number, or nil if it is over.
func (t *table) find(id uint64) *Request {
	i := uint32(id)
	if int(i) >= len(t.slots) || t.slots[i].uses != uint32(id>>32) {
		return nil
	}
	return t.slots[i].request
}

// remove forgets a request that is over.
func (t *table) remove(r *Request) {
	i := uint32(r.id)
	t.slots[i].request = nil
	t.free = append(t.free, i)
}

// underWay is how many requests there are.
func (t *table) underWay() int { return len(t.slots) - len(t.free) }
