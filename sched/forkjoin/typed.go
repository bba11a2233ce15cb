package forkjoin

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"fiberlab/fiber"
	"fiberlab/internal/debug"
	"fiberlab/sched/fibersync"
)

// Func is a function that forks calls of itself. Since the pool knows the function, a fork keeps only the argument, by value, in a slot that was
// made beforehand: it allocates nothing.
type Func[A, R any] struct {
	call   func(*Strand[A, R], A) R
	unused sync.Pool // of *Strand[A, R]
}

// NewFunc returns f as a Func. f calls itself directly for the part that it goes on with, and forks the others:
//
//	func sum(s *forkjoin.Strand[*node, int], n *node) int {
//		if n == nil {
//			return 0
//		}
//		right := s.Fork(n.right)
//		left := sum(s, n.left)
//		return n.value + left + s.Join(right)
//	}
//
// It panics with an error that wraps fibersync.ErrNilFunc if f is nil.
func NewFunc[A, R any](f func(*Strand[A, R], A) R) *Func[A, R] {
	if f == nil {
		panic(fmt.Errorf("forkjoin: new function: %w", fibersync.ErrNilFunc))
	}
	return &Func[A, R]{call: f}
}

// Call calls the function on p, and returns its result when all that it has forked has ended. Called by a goroutine that is no task, it blocks that, and
// runs as a task of the pool's scheduler; see Join. If the function panics, Call drops its forks that have not begun, waits for the others, and panics with an error that wraps a
// *fibersync.PanicError; Goexit ends the caller after that.
func (f *Func[A, R]) Call(p *Pool, arg A) R {
	if f == nil || f.call == nil {
		panic(notMade("Func"))
	}
	p.mustBeMade()
	if p.comesFromOutside() {
		return f.callFromOutside(p, arg)
	}
	on, made := p.enter()
	if made {
		defer on.leave()
	}
	s := f.strand(on)
	returned := false
	defer func() {
		if returned {
			s.end()
		} else {
			s.unwind(recover())
		}
	}()
	r := f.call(s, arg)
	returned = true
	return r
}

func (f *Func[A, R]) callFromOutside(p *Pool, arg A) (r R) {
	p.of.asTask(func() { r = f.Call(p, arg) })
	return r
}

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
// returned, a fiber not its thread. It panics if the ticket is not that of a fork, or if that has been joined; and
// if the function has panicked on another strand, with an error that wraps a *fibersync.PanicError.
//
// The function finds no fiber-local value, and those that it sets go when it returns. When it panics, they stay with a caller that has none
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

// call is a fork that has been handed out.
type call[A, R any] struct {
	result[R]
	of  *Func[A, R]
	arg A
}

// handOldest implements list.
func (s *Strand[A, R]) handOldest() bool {
	if s.handed == s.top {
		return false
	}
	c := s.newCall()
	c.arg = s.slots[s.handed]
	var none A
	s.slots[s.handed] = none
	s.calls = append(s.calls, c)
	s.handed++
	s.strand.pool.form.hand(s.strand, &c.job)
	return true
}

// newCall returns a call for a fork of s.
func (s *Strand[A, R]) newCall() *call[A, R] {
	if n := len(s.spare); n > 0 {
		c := s.spare[n-1]
		s.spare = s.spare[:n-1]
		c.pool = s.strand.pool
		return c
	}
	c := &call[A, R]{of: s.of}
	c.pool, c.job.body, c.job.inside, c.job.private = s.strand.pool, c, true, true
	return c
}

// run implements body.
func (c *call[A, R]) run(on *strand) {
	var r R
	var err error
	returned := false
	saved := on.hideLocals()
	s := c.of.strand(on)
	defer func() {
		if !returned {
			err = both(c.fail(recover()), s.abandon(0))
		}
		s.end()
		on.restoreLocals(saved)
		c.promise.TrySettle(r, err)
	}()
	r = c.of.call(s, c.arg)
	returned = true
}

// ErrTicket is the error of a Join without a fork.
var ErrTicket = errors.New("the ticket is of no fork that can be joined: join each fork once, on the Strand that forked it")

// joinSlow is Join of a fork that has been handed out, or that is not the newest, or while the caller has fiber-local values.
func (s *Strand[A, R]) joinSlow(t int) R {
	s.mustBeMade()
	if t < 0 || t >= s.top || t < s.handed && s.calls[t] == nil {
		panic(fmt.Errorf("forkjoin: join: %w", ErrTicket))
	}
	on := s.strand
	if t != s.top-1 {
		for s.handOldest() { // then each fork has an identity, and can be joined in any order
		}
	}
	var c *call[A, R]
	var arg A
	if t < s.handed {
		c, s.calls[t] = s.calls[t], nil
		arg = c.arg
	} else {
		arg, s.slots[t] = s.slots[t], arg
		s.top = t
	}
	for s.handed == s.top && s.handed > 0 && s.calls[s.handed-1] == nil {
		s.handed--
		s.top--
		s.calls = s.calls[:s.handed]
	}
	if c != nil {
		if !on.pool.form.takeBack(on, &c.job) {
			return c.await(on)
		}
		c.arg = *new(A)
		if c.fresh() && len(s.spare) < mostSpare {
			s.spare = append(s.spare, c)
		}
	}
	defer on.restoreLocals(on.hideLocals())
	return s.of.call(s, arg)
}

// abandon removes the forks from slot t on, which will not be joined: it takes back those that have not begun, and waits for the
// others. It returns their panics.
func (s *Strand[A, R]) abandon(t int) error {
	var errs error
	for i := t; i < s.handed; i++ {
		if c := s.calls[i]; c != nil && !s.strand.pool.form.takeBack(s.strand, &c.job) {
			_, err := c.wait(s.strand)
			errs = both(errs, err)
		}
	}
	clear(s.slots[t:s.top])
	s.handed = min(s.handed, t)
	clear(s.calls[s.handed:])
	s.calls, s.top = s.calls[:s.handed], t
	return errs
}

// unwind ends a call that has panicked with value, or called Goexit if that is nil.
func (s *Strand[A, R]) unwind(value any) {
	var err error
	if value != nil {
		err = panicError(value)
	}
	err = both(err, s.abandon(0))
	s.end()
	if value != nil {
		panic(err)
	}
}
