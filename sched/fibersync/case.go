package fibersync

import (
	"errors"
	"sync/atomic"
)

// The errors of a case that is in two calls of Select at a time or twice in one, and of one that
// is nil.
var (
	ErrCaseInUse = errors.New("the case is in use: make one for each Select, by OnSend or OnReceive")
	ErrNilCase   = errors.New("the case is nil: leave it out, or make it of a nil *Channel")
)

// Case is one of the operations of a [Select]: a send or a receive of one channel. OnSend and
// OnReceive make cases. A Case may be used again and again, in one Select at a time; a loop
// that makes its cases before it begins allocates nothing later.
type Case interface {
	// begin makes the case part of ch, and reports whether it was free for that.
	begin(ch *choice, index int) bool

	// lockRank is the channel's rank in the order of locking; 0: there is no channel.
	lockRank() uint64
	lock()
	unlock()

	try() bool // does the exchange if that is possible at once; the caller holds mu
	enqueue()  // puts the offer in the channel's queue; the caller holds mu
	dequeue()  // removes the offer if it is there; the caller does not hold mu

	// release makes the case free for another Select. It must be in no queue.
	release()
	// finish does so after the exchange, hands off to the other side, and calls the function of
	// the case. The caller holds no mu.
	finish() error
}

// OnReceive is the case of receiving a value. Select calls f with what Receive would return; f
// may be nil. If c is nil, the case is never chosen.
func (c *Channel[T]) OnReceive(f func(v T, ok bool)) Case {
	r := &receiveCase[T]{side: side[T]{channel: c}, then: f}
	r.whole = &r.offer
	return r
}

// OnSend is the case of sending v. Select calls f when v has been sent; f may be nil. If c is
// nil, the case is never chosen. If c is closed it may be chosen: then Select returns an error
// that wraps ErrClosed, and does not call f.
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
	partner *offer[T] // the other side of the exchange, to be handed off to
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

// dequeue removes the offer from l, a queue of the channel.
func (s *side[T]) dequeue(l *waitQueue) {
	s.channel.mu.Lock()
	l.remove(&s.waiter)
	s.channel.mu.Unlock()
}

func (s *side[T]) release() {
	s.choice = nil
	s.inUse.Store(false)
}

// complete releases the case, and hands off to the partner, if there is one.
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

// channels counts the channels that have a rank in the order of locking.
var channels atomic.Uint64

// lockRank returns the channel's rank in the order in which a Select locks several channels:
// the order of their first use in a Select.
func (c *Channel[T]) lockRank() uint64 {
	if rank := c.rank.Load(); rank != 0 {
		return rank
	}
	c.rank.CompareAndSwap(0, channels.Add(1))
	return c.rank.Load()
}
