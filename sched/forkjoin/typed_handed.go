package forkjoin

import (
	"errors"
	"fiberlab/sched/fibersync"
	"fmt"
)

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
		return c
	}
	c := &call[A, R]{of: s.of}
	c.job.body, c.job.inside, c.job.private = c, true, true
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

// abandon removes the forks from slot t on, which will not be joined: it takes back the forks that have not begun, and waits for the
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
		err = fibersync.AsPanicError(value)
	}
	err = both(err, s.abandon(0))
	s.end()
	if value != nil {
		panic(err)
	}
}
