package forkjoin

import "fiberlab/sched/fibersync"

// joinQueued is Join under the other forms. It returns the panic of a or b as an error.
func joinQueued[A, B any](s *strand, a func(*Pool) A, b func(*Pool) B) (ra A, rb B, err error) {
	j := newBranch(s, b)
	queued, returned, hidden := true, false, false
	var saved any
	defer func() {
		if !returned {
			if hidden {
				s.restoreLocals(saved)
			}
			err = s.unwindQueued(j, queued, recover())
		}
	}()
	s.pool.form.submit(s, &j.job)
	ra = a(&s.view)
	mine := s.pool.form.takeBack(s, &j.job)
	queued = false
	if mine {
		j.reuse(s)
		saved, hidden = s.hideLocals(), true
		rb = b(&s.view)
		s.restoreLocals(saved)
	} else {
		rb = j.await(s)
	}
	returned = true
	return ra, rb, nil
}

// unwindQueued is unwind for the other forms. queued says that j has not been taken back yet.
func (s *strand) unwindQueued(j abandoned, queued bool, value any) (err error) {
	if value != nil {
		err = fibersync.AsPanicError(value)
	}
	if queued {
		err = both(err, j.abandon(s))
	}
	return err
}

// mostSpare is how many branches a strand keeps to use them again.
const mostSpare = 64

// newBranch returns a branch that runs call.
func newBranch[T any](s *strand, call func(*Pool) T) *branch[T] {
	if n := len(s.spare); n > 0 {
		if b, ok := s.spare[n-1].(*branch[T]); ok {
			s.spare = s.spare[:n-1]
			b.call = call
			return b
		}
	}
	b := &branch[T]{call: call}
	b.job.body, b.job.inside, b.job.private = b, true, true
	return b
}

// reuse keeps b, which has been taken back, for newBranch, unless it has been claimed, and may be met in a queue.
func (b *branch[T]) reuse(s *strand) {
	b.call = nil
	if !b.started() && len(s.spare) < mostSpare {
		s.spare = append(s.spare, b)
	}
}
