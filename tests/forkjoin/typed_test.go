package forkjoin_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/forkjoin"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/forktest"
)

// A typed function that waits for what its newest fork does: the fork is where others find it by then.
func TestTypedForkIsOfferedBeforeAWait(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		for forks := 1; forks <= 3; forks++ {
			events := make([]fibersync.Event, forks)
			f := forkjoin.NewFunc(func(s *forkjoin.Strand[int, int], n int) int {
				if n >= 0 {
					events[n].Signal()
					return n
				}
				tickets := make([]forkjoin.Ticket, forks)
				for i := range forks {
					tickets[i] = s.Fork(i)
				}
				sum := 0
				for i := range forks {
					events[i].Wait()
				}
				for _, ticket := range tickets {
					sum += s.Join(ticket)
				}
				return sum
			})
			task := func(p *forkjoin.Pool) (int, error) { return f.Call(p, -1), nil }
			got, err := forkjoin.Submit(p, onFiber(task, s)).Get()
			assert.NoError(t, err)
			assert.Equal(t, forks*(forks-1)/2, got)
		}
	})
}

// onFiber returns task, which runs on a fiber of s, in a task of the scheduler, if its caller is a goroutine.
func onFiber[T any](task func(*forkjoin.Pool) (T, error), s *sched.Scheduler) func(*forkjoin.Pool) (T, error) {
	return func(p *forkjoin.Pool) (v T, err error) {
		if sched.Current() != nil {
			return task(p)
		}
		var over fibersync.Event
		if err := s.Enqueue(sched.Task{Func: func() { defer over.Signal(); v, err = task(p) }}); err != nil {
			return v, err
		}
		over.Wait()
		return v, err
	}
}

// Joins come in any order; each ticket serves once.
func TestTypedTickets(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		f := forkjoin.NewFunc(func(s *forkjoin.Strand[int, int], n int) int {
			if n <= 0 {
				return 1
			}
			var tickets []forkjoin.Ticket
			for range n {
				tickets = append(tickets, s.Fork(n/2-1))
			}
			sum := 0
			for i := range tickets {
				switch n % 3 {
				case 0: // the newest first
					sum += s.Join(tickets[n-1-i])
				case 1: // the oldest first
					sum += s.Join(tickets[i])
				case 2: // from the middle
					sum += s.Join(tickets[(i+n/2)%n])
					check.PanicsWith(t, forkjoin.ErrTicket, func() { s.Join(tickets[(i+n/2)%n]) })
				}
			}
			check.PanicsWith(t, forkjoin.ErrTicket, func() { s.Join(tickets[0]) })
			check.PanicsWith(t, forkjoin.ErrTicket, func() { s.Join(-1) })
			check.PanicsWith(t, forkjoin.ErrTicket, func() { s.Join(1 << 30) })
			return sum
		})
		var want func(n int) int
		want = func(n int) int {
			if n <= 0 {
				return 1
			}
			return n * want(n/2-1)
		}
		for n := range 14 {
			forktest.FromEach(t, s, p, func(p *forkjoin.Pool) { assert.Equal(t, want(n), f.Call(p, n), "%d", n) })
		}
	})
}
