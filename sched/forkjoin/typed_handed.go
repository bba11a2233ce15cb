package forkjoin

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"fiberlab/internal/release"
	"fiberlab/sched/fibersync"
)

// call is a fork that has been taken.
type call[A, R any] struct {
	result[R]
	of  *Func[A, R]
	arg A
}

// job implements list.
func (s *Strand[A, R]) job(i int) *job {
	var c *call[A, R]
	if n := len(s.spare); n > 0 {
		c = s.spare[n-1]
		s.spare = s.spare[:n-1]
	} else {
		c = &call[A, R]{of: s.of}
		c.job.body, c.job.inside, c.job.private = c, true, true
	}
	c.arg = s.slots[i].arg
	s.calls = append(s.calls, c)
	return &c.job
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
	s.forget()
	returned = true
}

// ErrTicket is the error of a Join without a fork.
var ErrTicket = errors.New(
	"the ticket is of no fork that can be joined: join each fork once, on the Strand that forked it",
)

// joinSlow is Join of a fork that has been taken, or that is not the newest, or while the caller has fiber-local
// values. If pop has returned false for t, newest is t.
func (s *Strand[A, R]) joinSlow(ticket Ticket, newest int) R {
	s.mustBeMade()
	t := sort.Search(newest+1, func(i int) bool { return s.ticket(i) >= ticket })
	if t > newest || s.ticket(t) != ticket {
		panic(fmt.Errorf("forkjoin: join: %w", ErrTicket))
	}
	on := s.strand
	if t != newest { // then each fork becomes a job, and can be joined in any order
		for j := on.take(nil); j != nil; j = on.take(nil) {
			on.pool.form.submit(on, j)
		}
	}
	c, arg := s.remove(t, newest)
	if c != nil {
		if !on.pool.form.takeBack(on, &c.job) {
			return c.await(on)
		}
		arg = c.arg
		if !c.started() && len(s.spare) < mostSpare { // so not under Heartbeat: no thief reads spare
			c.arg = *new(A)
			s.spare = append(s.spare, c)
		}
	}
	defer on.restoreLocals(on.hideLocals())
	return s.call(s, arg)
}

// remove removes fork t. It returns the call that it has become, if it has been taken, or its argument.
func (s *Strand[A, R]) remove(t, newest int) (c *call[A, R], arg A) {
	s.lock()
	defer s.unlock()
	top, taken := newest+1, int(s.taken.Load())
	if t < taken && s.calls[t] == nil {
		s.set(top)
		panic(fmt.Errorf("forkjoin: join: %w", ErrTicket))
	}
	if t < taken {
		c, s.calls[t] = s.calls[t], nil
	} else {
		top = t
	}
	arg, s.slots[t].arg = s.slots[t].arg, arg
	for taken == top && taken > 0 && s.calls[taken-1] == nil {
		taken--
		top--
		s.calls = s.calls[:taken]
	}
	s.set(top)
	release.Store(&s.taken, uint64(taken))
	return c, arg
}

// lock takes the lock of the strand, if there are thieves. unlock releases it.
func (s *Strand[A, R]) lock() {
	if s.strand.pool.cfg.Form == Heartbeat {
		s.strand.mu.Lock()
	}
}

func (s *Strand[A, R]) unlock() {
	if s.strand.pool.cfg.Form == Heartbeat {
		s.strand.mu.Unlock()
	}
}

// abandon removes the forks that were made after that ticket, which will not be joined: it takes back those that have
// not begun, and waits for the others. It returns their panics.
func (s *Strand[A, R]) abandon(after Ticket) error {
	s.lock()
	top := int(s.top.Load())
	level := sort.Search(top, func(i int) bool { return s.ticket(i) > after })
	kept := min(level, len(s.calls))
	calls := slices.Clone(s.calls[kept:])
	clear(s.calls[kept:])
	s.calls = s.calls[:kept]
	for i := level; i < top; i++ {
		s.slots[i].arg = *new(A)
	}
	s.set(level)
	s.taken.Store(uint64(kept))
	s.unlock()
	var errs error
	for _, c := range calls {
		if c != nil && !s.strand.pool.form.takeBack(s.strand, &c.job) {
			_, err := c.wait(s.strand)
			errs = both(errs, err)
		}
	}
	return errs
}

// forget abandons what a call that has returned has not joined, and counts and reports it. Without Config.Forgotten it
// panics with the panics of forks.
func (s *Strand[A, R]) forget() {
	if s.top.Load() == 0 {
		return
	}
	s.lock()
	n := uint64(s.top.Load())
	for _, c := range s.calls {
		if c == nil {
			n-- // it has been joined
		}
	}
	s.unlock()
	p := s.strand.pool
	p.notJoined.Add(n)
	err := s.abandon(0)
	report := p.cfg.Forgotten
	switch {
	case report == nil && err != nil:
		panic(err)
	case report == nil || n == 0:
	case err == nil:
		report(fmt.Sprintf("forkjoin: %d forks of a call of a Func were not joined: join each", n))
	default:
		report(fmt.Sprintf(
			"forkjoin: %d forks of a call of a Func were not joined: join each; one has panicked: %v", n, err,
		))
	}
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
