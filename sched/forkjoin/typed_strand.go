package forkjoin

import (
	"errors"
	"sync/atomic"

	"fiberlab/fiber"
	"fiberlab/internal/debug"
)

// Strand is the stack on which a Func runs, with its forks that have not been joined: a slot for each. Only the function may use it, on that
// stack, while the call lasts; debug builds panic otherwise.
//
//	slots   [ a0 | a1 | a2 | a3 |    |    ]
//	          handed out |    \ top
//	          (handed[i])      the newest, which is joined first
type Strand[A, R any] struct {
	beat   *uint32
	seen   uint32
	handed int // how many slots have been handed out: they are the oldest
	top    int // how many slots are in use
	slots  []A
	of     *Func[A, R]
	local  *any

	strand *strand
	calls  []*call[A, R] // of the slots that have been handed out; nil: joined
	spare  []*call[A, R] // to be used again
}

// Ticket stands for one fork of a Strand.
type Ticket int

// Fork has the function called with arg, by the caller when it comes to Join, or by another strand before that. Each fork must be joined, on the
// same strand, before the function that forked it returns. Joins in the opposite order of the forks are the quickest.
func (s *Strand[A, R]) Fork(arg A) Ticket {
	s.mustBeCaller()
	t := s.top
	if t == len(s.slots) {
		s.mustBeMade()
		s.slots = append(s.slots, make([]A, t)...)
	}
	s.slots[t] = arg
	s.top = t + 1
	if atomic.LoadUint32(s.beat) != s.seen {
		s.pulse() // after the slot is filled: the newest fork may have to be handed out
	}
	return Ticket(t)
}

// Join returns the result of the fork. If no other strand has taken it, it calls the function; if one has, it blocks the caller until that has
// returned, a fiber not its thread. It panics with an error that wraps ErrTicket if the ticket is not that of a fork, or if that has been joined; and
// if the function has panicked on another strand, with an error that wraps a *fibersync.PanicError.
//
// The function finds no fiber-local value, and the values that it sets go when it returns. When it panics, they stay with a caller that has none
// and recovers: to take them away then too would cost each Join some nanoseconds.
func (s *Strand[A, R]) Join(t Ticket) R {
	s.mustBeCaller()
	top := s.top - 1
	if int(t) != top || top < s.handed || *s.local != nil {
		return s.joinSlow(int(t))
	}
	arg := s.slots[top]
	var none A
	s.slots[top] = none // for the collector
	s.top = top
	r := s.of.call(s, arg)
	if *s.local != nil {
		*s.local = nil
	}
	return r
}

// Pool returns the pool as a task on this strand sees it.
func (s *Strand[A, R]) Pool() *Pool {
	s.mustBeMade()
	return &s.strand.view
}

// noLocals is the fiber-local slot of goroutines, which have none. It stays nil.
var noLocals any

const firstSlots = 64

// strand returns a Strand for a call on that stack.
func (f *Func[A, R]) strand(on *strand) *Strand[A, R] {
	s, ok := f.unused.Get().(*Strand[A, R])
	if !ok {
		s = &Strand[A, R]{of: f, slots: make([]A, firstSlots)}
	}
	s.strand, s.beat, s.seen, s.local = on, on.beat, on.seen, on.local
	if s.local == nil {
		s.local = &noLocals
	}
	on.lists = append(on.lists, s)
	return s
}

// end gives s back, which has no forks any more.
func (s *Strand[A, R]) end() {
	if s.top > 0 {
		s.abandon(0)
	}
	on := s.strand
	on.lists[len(on.lists)-1] = nil
	on.lists = on.lists[:len(on.lists)-1]
	on.seen = s.seen
	s.strand = nil
	s.of.unused.Put(s)
}

// pulse is called by Fork if the beat has changed.
func (s *Strand[A, R]) pulse() {
	if s.strand.due() {
		s.strand.pulse()
	}
	s.seen = s.strand.seen
}

// mustBeMade panics if no call runs on s.
func (s *Strand[A, R]) mustBeMade() {
	if s.strand == nil {
		panic(notMade("Strand"))
	}
}

// mustBeCaller panics in debug builds if the caller is on another stack.
func (s *Strand[A, R]) mustBeCaller() {
	if debug.On && (s.strand == nil || s.strand.self.Load() != fiber.Self()) {
		panic(errors.New("forkjoin: a Strand is used on another stack: each fork gets a Strand of its own"))
	}
}
