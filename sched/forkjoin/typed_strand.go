package forkjoin

import (
	"errors"
	"slices"
	"sync/atomic"

	"fiberlab/fiber"
	"fiberlab/internal/debug"
	"fiberlab/internal/release"
)

// Strand is the stack on which a Func runs, with its forks that have not been joined: a slot for each. Only the
// function may use it, on that stack, while the call lasts; Fork and Join panic otherwise in debug builds.
//
//	slots   [ a0 | a1 | a2 | a3 |    |    ]
//	              taken       top: a3 is the newest, which is joined first
type Strand[A, R any] struct {
	listEnds
	wanting *atomic.Uint64           // of the pool, or always
	left    int                      // see strand.left
	slots   []slot[A]                // thieves read them, and the strand grows the list under its lock
	call    func(*Strand[A, R], A) R // of's
	of      *Func[A, R]
	local   *any

	strand *strand
	calls  []*call[A, R] // of the slots that have been taken; nil: joined
	spare  []*call[A, R] // to be used again
}

// slot is a fork. The tickets grow from slot to slot.
type slot[A any] struct {
	arg    A
	ticket atomic.Uint64
}

// Ticket stands for one fork of a Strand. The zero value stands for none.
type Ticket int

// strandsMade counts the Strands that have been made. Each begins with another ticket, so that none takes a ticket of
// another one for its own.
var strandsMade atomic.Uint32

const ticketBits = 40 // a Strand has so many before it comes to those of the next one

// Fork has the function called with arg, by the caller when it comes to Join, or by another strand before that. Each
// fork must be joined, on the same strand, before the function that forked it returns. If one is not joined when the
// whole call ends, as when a panic has left it behind, it is dropped unless it has begun. Stats counts it, and
// Config.Forgotten gets a text; if that is nil, the call panics with the panic of the fork. Joins in the opposite order
// of the forks are the quickest.
func (s *Strand[A, R]) Fork(arg A) Ticket {
	s.mustBeCaller()
	t := int(s.top.Load())
	if t == len(s.slots) {
		s.grow()
		t = int(s.top.Load())
	}
	ticket := s.next()
	slot := &s.slots[t]
	slot.arg = arg
	release.Store(&slot.ticket, uint64(ticket))
	s.set(t + 1)
	if s.left--; s.left <= 0 || s.wanting.Load() > 0 {
		s.forked()
	}
	return ticket
}

// Join returns the result of the fork. If no other strand has taken it, it calls the function; if one has, it
// blocks the caller until that has returned, a fiber not its thread. It panics with an error that wraps ErrTicket
// if the ticket is not of a fork, or if that has been joined. If the function has panicked on another strand, the
// error wraps a *fibersync.PanicError. If it has called Goexit on another goroutine, the error wraps
// fibersync.ErrGoexit.
//
// The function finds no fiber-local value, and the values that it sets go when it returns. When it panics, they
// stay with a caller that has none and recovers: to take them away then too would cost each Join some nanoseconds.
func (s *Strand[A, R]) Join(t Ticket) R {
	s.mustBeCaller()
	top := int(s.top.Load()) - 1
	if top < 0 {
		return s.joinSlow(t, top)
	}
	slot := &s.slots[top]
	if Ticket(slot.ticket.Load()) != t || *s.local != nil || !s.pop(top) {
		return s.joinSlow(t, top)
	}
	arg := slot.arg
	var none A
	slot.arg = none // for the collector
	r := s.call(s, arg)
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

const firstSlots = 64

// always is for strands whose Fork always calls forked.
var always atomic.Uint64

func init() { always.Store(1) }

// noLocals and someLocals are fiber-local slots of strands that have none: goroutines, and strands whose Join
// always calls joinSlow. Their values never change.
var (
	noLocals   any
	someLocals any = "always"
)

// strand returns a Strand for a call on that stack.
func (f *Func[A, R]) strand(on *strand) *Strand[A, R] {
	s, ok := f.unused.Get().(*Strand[A, R])
	if !ok {
		s = &Strand[A, R]{of: f, call: f.call, slots: make([]slot[A], firstSlots)}
		s.last.Store(uint64(strandsMade.Add(1)%(1<<(63-ticketBits))) << ticketBits)
	}
	s.slots = s.slots[:cap(s.slots)]
	s.strand, s.wanting, s.left, s.local = on, &on.pool.wanting, on.left, on.local
	if s.local == nil {
		s.local = &noLocals
	}
	if on.fenced {
		s.wanting, s.local = &always, &someLocals
	}
	if on.pool.cfg.Form != Heartbeat {
		s.wanting = &always
	}
	on.addList(s)
	return s
}

// end gives s back, which has no forks any more. Fork finds no slot after that, as in the zero Strand, and panics.
func (s *Strand[A, R]) end() {
	on := s.strand
	on.dropList()
	on.left = s.left
	s.strand, s.slots = nil, s.slots[:0]
	s.of.unused.Put(s)
}

// ticket implements list.
func (s *Strand[A, R]) ticket(i int) Ticket { return Ticket(s.slots[i].ticket.Load()) }

// grow makes room for more forks. It removes those that were joined before newer ones, so the others get other indices.
func (s *Strand[A, R]) grow() {
	s.mustBeMade()
	s.lock()
	defer s.unlock()
	open := 0
	for i := range s.slots {
		if i < len(s.calls) && s.calls[i] == nil {
			continue
		}
		if open != i {
			s.slots[open].arg = s.slots[i].arg
			s.slots[open].ticket.Store(s.slots[i].ticket.Load())
		}
		open++
	}
	clear(s.slots[open:])
	s.calls = slices.DeleteFunc(s.calls, func(c *call[A, R]) bool { return c == nil })
	s.taken.Store(uint64(len(s.calls)))
	s.set(open)
	if open > len(s.slots)/2 {
		s.slots = append(s.slots, make([]slot[A], len(s.slots))...)
	}
}

// forked is called by Fork when it is time to look at the clock, or when a drainer is wanted.
func (s *Strand[A, R]) forked() {
	on := s.strand
	if s.left <= 0 {
		on.spendTurn()
		s.left = on.left
	}
	if on.pool.cfg.Form != Heartbeat {
		i := s.taken.Load()
		release.Store(&s.taken, i+1)
		on.pool.form.submit(on, s.job(int(i)))
		return
	}
	if on.fenced {
		on.fence.Swap(0)
	}
	on.pool.call()
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
