package forkjoin

import "fiberlab/sched/fibersync"

// waiting is the forked half of a Join that has not been handed out.
type waiting[T any] func(*Pool) T

// hand implements fork.
func (w waiting[T]) hand(s *strand) fork {
	b := &branch[T]{call: w}
	b.job.body, b.job.inside = b, true
	s.pool.form.hand(s, &b.job)
	return b
}

// hand implements fork.
func (b *branch[T]) hand(*strand) fork { return b }

// joinPrivate is Join under Heartbeat. It returns the panic of a or b as an error.
func joinPrivate[A, B any](s *strand, a func(*Pool) A, b func(*Pool) B) (ra A, rb B, err error) {
	f := &s.forks
	level, returned, hidden := len(f.stack), false, false
	var saved any
	f.stack = append(f.stack, waiting[B](b))
	if s.due() {
		s.pulse()
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
	handed := level < f.handed
	var taken fork
	if handed {
		taken = f.stack[level]
	}
	f.pop(level)
	if handed && !s.pool.form.takeBack(s, &taken.(*branch[B]).job) {
		rb = taken.(*branch[B]).await(s)
	} else {
		saved, hidden = s.hideLocals(), true
		rb = b(&s.view)
		s.restoreLocals(saved)
	}
	returned = true
	return ra, rb, nil
}

// pop removes the forks from level on, and clears what they leave, for the collector.
func (f *forks) pop(level int) {
	if level+1 < len(f.stack) {
		clear(f.stack[level+1:])
	}
	if level < len(f.stack) {
		f.stack[level] = nil
		f.stack = f.stack[:level]
	}
	f.handed = min(f.handed, level)
}

// unwind removes the forks of a Join that does not return: the caller has panicked with value, or called Goexit if that is nil. It returns the errors of
// both halves.
func (s *strand) unwind(level int, value any) (err error) {
	if value != nil {
		err = fibersync.AsPanicError(value)
	}
	f := &s.forks
	for i := level; i < len(f.stack); i++ {
		if b, handed := f.stack[i].(abandoned); handed {
			err = both(err, b.abandon(s))
		}
	}
	f.pop(level)
	return err
}
