package fibersync

import (
	"errors"
	"sync/atomic"
)

// What can be wrong with a case of a Select: it is given to two at a time, or twice to one; or
// it is nil.
var (
	ErrCaseInUse = errors.New("the case is in use: make one for each Select, by OnSend or OnReceive")
	ErrNilCase   = errors.New("there is no case: leave it out, or make it of a nil *Channel")
)

// Case is what a [Select] can do: a send or a receive of one channel. OnSend and
// OnReceive make cases. A Case may serve again and again, in one Select at a time;
// a loop that makes its cases before it begins allocates nothing later.
type Case interface {
	// begin makes the case part of ch, and tells whether it was free for that.
	begin(ch *choice, index int) bool

	// rank is the place of the channel in the order of locking, 0 if there is no channel.
	lockRank() uint64
	lock()
	unlock()

	try() bool // does the exchange if that is possible at once; the guard must be held
	enqueue()  // offers it to whoever comes; the guard must be held
	dequeue()  // takes the offer back, if it is there; the guard must not be held

	// release makes the case free for another Select. It must be in no line.
	release()
	// finish does so after the exchange, grants whom it took place with, and calls the
	// function that the case was made with. No guard must be held.
	finish() error
}

// OnReceive is the case of receiving a value. f is called by Select with what Receive
// would return; it may be nil. If c is nil, the case is never chosen.
func (c *Channel[T]) OnReceive(f func(v T, ok bool)) Case {
	r := &receiveCase[T]{side: side[T]{channel: c}, then: f}
	r.whole = &r.offer
	return r
}

// OnSend is the case of sending v. f is called by Select when v has been sent; it may be
// nil. If c is nil, the case is never chosen. If c is closed it is: Select then returns
// an error that wraps ErrClosed, and does not call f.
func (c *Channel[T]) OnSend(v T, f func()) Case {
	s := &sendCase[T]{side: side[T]{channel: c}, then: f}
	s.value = v
	s.whole = &s.offer
	return s
}

// side is what the cases of sending and of receiving have in common.
type side[T any] struct {
	offer[T]
	channel *Channel[T]
	partner *offer[T] // with whom the exchange took place, to be granted
	inUse   atomic.Bool
}

func (s *side[T]) begin(ch *choice, index int) bool {
	if !s.inUse.CompareAndSwap(false, true) {
		return false
	}
	s.choice, s.index, s.ok = ch, index, false
	return true
}

func (s *side[T]) lockRank() uint64 {
	if s.channel == nil {
		return 0
	}
	return s.channel.lockRank()
}

func (s *side[T]) lock()   { s.channel.mu.Lock() }
func (s *side[T]) unlock() { s.channel.mu.Unlock() }

// leave removes the offer from l, a line of the channel.
func (s *side[T]) dequeue(l *waitQueue) {
	s.channel.mu.Lock()
	l.remove(&s.waiter)
	s.channel.mu.Unlock()
}

func (s *side[T]) release() {
	s.choice = nil
	s.inUse.Store(false)
}

// settle grants the partner, if there is one, and releases the case.
func (s *side[T]) complete() {
	partner := s.partner
	s.partner = nil
	s.release()
	if partner != nil {
		partner.handOff()
	}
}

type receiveCase[T any] struct {
	side[T]
	then func(v T, ok bool)
}

func (r *receiveCase[T]) try() (ready bool) {
	if r.channel != nil {
		r.value, r.ok, ready, r.partner = r.channel.take()
	}
	return ready
}

func (r *receiveCase[T]) enqueue() {
	if r.channel != nil {
		r.channel.receivers.push(&r.waiter)
	}
}

func (r *receiveCase[T]) dequeue() {
	if r.channel != nil {
		r.side.dequeue(&r.channel.receivers)
	}
}

func (r *receiveCase[T]) finish() error {
	var none T
	v, ok := r.value, r.ok
	r.value = none
	r.complete()
	if r.then != nil {
		r.then(v, ok)
	}
	return nil
}

type sendCase[T any] struct {
	side[T]
	then func()
}

func (s *sendCase[T]) try() (ready bool) {
	if s.channel == nil {
		return false
	}
	var err error
	s.partner, s.ok, err = s.channel.give(s.value)
	return s.ok || err != nil
}

func (s *sendCase[T]) enqueue() {
	if s.channel != nil {
		s.channel.senders.push(&s.waiter)
	}
}

func (s *sendCase[T]) dequeue() {
	if s.channel != nil {
		s.side.dequeue(&s.channel.senders)
	}
}

func (s *sendCase[T]) finish() error {
	sent := s.ok
	s.complete()
	if !sent {
		return errSendOnClosed()
	}
	if s.then != nil {
		s.then()
	}
	return nil
}

// channels is how many have a place in the order of locking.
var channels atomic.Uint64

// place is the channel's place in the order in which a Select locks several: the earlier
// a channel was first in a Select, the sooner.
func (c *Channel[T]) lockRank() uint64 {
	if rank := c.rank.Load(); rank != 0 {
		return rank
	}
	c.rank.CompareAndSwap(0, channels.Add(1))
	return c.rank.Load()
}
