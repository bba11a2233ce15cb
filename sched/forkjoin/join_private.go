package forkjoin

import "fiberlab/sched/fibersync"

// waiting is the forked half of a Join that no other strand has taken.
type waiting[T any] func(*Pool) T

// branch implements fork.
func (w waiting[T]) branch() (fork, *job) {
	b := &branch[T]{call: w}
	b.job.body, b.job.inside = b, true
	return b, &b.job
}

// branch implements fork.
func (b *branch[T]) branch() (fork, *job) { return b, &b.job }

// joinPrivate is Join under Heartbeat. It returns the panic of a or b as an error.
func joinPrivate[A, B any](s *strand, a func(*Pool) A, b func(*Pool) B) (ra A, rb B, err error) {
	f := &s.forks
	level, returned, hidden := int(f.top.Load()), false, false
	var saved any
	f.push(level, waiting[B](b))
	if s.pool.wanting.Load() > 0 {
		s.pool.call()
	}
	defer func() {
		if !returned {
			if hidden {
				s.restoreLocals(saved)
			}
			err = s.unwind(level, recover())
		}
	}()
	ra = a(&s.view)
	taken := f.pop(level)
	if taken != nil && !s.pool.form.takeBack(s, &taken.(*branch[B]).job) {
		rb = taken.(*branch[B]).await(s)
	} else {
		saved, hidden = s.hideLocals(), true
		rb = b(&s.view)
		s.restoreLocals(saved)
	}
	returned = true
	return ra, rb, nil
}

// unwind removes the forks of a Join that does not return: the caller has panicked with value, or called Goexit if
// that is nil. It returns the errors of both halves.
func (s *strand) unwind(level int, value any) (err error) {
	if value != nil {
		err = fibersync.AsPanicError(value)
	}
	for _, x := range s.forks.cut(level) {
		if b, taken := x.(abandoned); taken {
			err = both(err, b.abandon(s))
		}
	}
	return err
}
