package forkjoin

import (
	"errors"
	"fmt"

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
	c.arg = s.slots[i]
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
			err = both(c.fail(recover()), s.abandon())
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

// joinSlow is Join of a fork that has been taken, or that is not the newest, or while the caller has fiber-local
// values. If pop has returned false for t, newest is t.
func (s *Strand[A, R]) joinSlow(t, newest int) R {
	s.mustBeMade()
	on := s.strand
	if t != newest && t >= 0 { // then each fork becomes a job, and can be joined in any order
		for j := on.takeOwn(); j != nil; j = on.takeOwn() {
			on.pool.form.submit(on, j)
		}
	}
	c, arg := s.remove(t, newest)
	if c != nil {
		if !on.pool.form.takeBack(on, &c.job) {
			return c.await(on)
		}
		arg = c.arg
		if c.fresh() {
			s.keep(c)
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
	if t < 0 || t >= top || t < taken && s.calls[t] == nil {
		s.set(top)
		panic(fmt.Errorf("forkjoin: join: %w", ErrTicket))
	}
	if t < taken {
		c, s.calls[t] = s.calls[t], nil
	} else {
		top = t
	}
	arg, s.slots[t] = s.slots[t], arg
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

// keep keeps c, which no other strand knows, to be used again.
func (s *Strand[A, R]) keep(c *call[A, R]) {
	c.arg = *new(A)
	s.lock()
	if len(s.spare) < mostSpare {
		s.spare = append(s.spare, c)
	}
	s.unlock()
}

// abandon removes the forks, which will not be joined: it takes back those that have not begun, and waits for the
// others. It returns their panics.
func (s *Strand[A, R]) abandon() error {
	s.lock()
	calls := s.calls
	clear(s.slots[:s.top.Load()])
	s.calls = nil
	s.set(0)
	s.taken.Store(0)
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

// unwind ends a call that has panicked with value, or called Goexit if that is nil.
func (s *Strand[A, R]) unwind(value any) {
	var err error
	if value != nil {
		err = fibersync.AsPanicError(value)
	}
	err = both(err, s.abandon())
	s.end()
	if value != nil {
		panic(err)
	}
}
