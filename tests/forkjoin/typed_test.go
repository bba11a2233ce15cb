package forkjoin_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/forkjoin"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/forktest"
	"fiberlab/tests/internal/suite"
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

// A ticket serves once: neither a later fork in the same place nor a fork of another Strand is taken for it.
func TestTicketsAreOfOneFork(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		var others []forkjoin.Ticket
		f := forkjoin.NewFunc(func(s *forkjoin.Strand[int, int], n int) int {
			if n > 0 {
				return n
			}
			check.PanicsWith(t, forkjoin.ErrTicket, func() { s.Join(0) })
			for _, ticket := range others {
				mine := s.Fork(1)
				check.PanicsWith(t, forkjoin.ErrTicket, func() { s.Join(ticket) })
				assert.Equal(t, 1, s.Join(mine))
			}
			for range 3 {
				first := s.Fork(1)
				assert.Equal(t, 1, s.Join(first))
				second := s.Fork(2)
				check.PanicsWith(t, forkjoin.ErrTicket, func() { s.Join(first) })
				third := s.Fork(3)
				check.PanicsWith(t, forkjoin.ErrTicket, func() { s.Join(first) })
				assert.Equal(t, 2, s.Join(second))
				check.PanicsWith(t, forkjoin.ErrTicket, func() { s.Join(second) })
				assert.Equal(t, 3, s.Join(third))
				others = append(others, first, second, third)
			}
			return 0
		})
		forktest.FromEach(t, s, p, func(p *forkjoin.Pool) { assert.Zero(t, f.Call(p, 0)) })
		others = others[:3]
		again := forkjoin.NewFunc(func(s *forkjoin.Strand[int, int], n int) int {
			if n > 0 {
				return n
			}
			sum := 0
			for range 10 {
				mine := s.Fork(1)
				for _, ticket := range others {
					check.PanicsWith(t, forkjoin.ErrTicket, func() { s.Join(ticket) })
				}
				sum += s.Join(mine)
			}
			return sum
		})
		forktest.FromEach(t, s, p, func(p *forkjoin.Pool) { assert.Equal(t, 10, again.Call(p, 0)) })
	})
}

// Forks that a call has not joined are counted and reported, and those that have begun are waited for. If the pool
// reports nothing, the call panics with their panics. A FuncContext that returns an error need not join them.
func TestForksThatAreNotJoined(t *testing.T) {
	forktest.EachConfig(
		t, suite.Over{Workers: forktest.Workers},
		func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
			var texts atomic.Int64
			pool := forkjoin.Config{Form: form, Forgotten: func(text string) {
				assert.Contains(t, text, "join each")
				texts.Add(1)
			}}
			forktest.OnPool(t, cfg, pool, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
				f := forkjoin.NewFunc(func(s *forkjoin.Strand[int, int], n int) int {
					if n > 0 {
						one := s.Fork(n - 1)
						s.Fork(0)
						return 1 + s.Join(one)
					}
					return 1
				})
				var begun fibersync.Event
				panics := forkjoin.NewFunc(func(s *forkjoin.Strand[int, int], n int) int {
					if n == 0 {
						begun.Signal()
						panic(errBad)
					}
					s.Fork(0)
					begun.Wait()
					return 1
				})
				c := forkjoin.NewFuncContext(
					func(_ context.Context, s forkjoin.StrandContext[int, int], n int) (int, error) {
						if n == 0 {
							s.Fork(-1)
							return 0, errBad
						}
						return s.Join(s.Fork(n - 1))
					},
				)
				many := forkjoin.NewFuncContext(
					func(_ context.Context, s forkjoin.StrandContext[int, int], n int) (int, error) {
						switch n {
						case 0:
							first, second, third := s.Fork(2), s.Fork(2), s.Fork(1)
							for _, ticket := range []forkjoin.Ticket{first, third, second} {
								_, _ = s.Join(ticket)
							}
						case 1:
							for range 100 { // so many that the caller's forks are moved
								s.Fork(2)
							}
							return 0, errBad
						}
						return n, nil
					},
				)
				forktest.FromEach(t, s, p, func(p *forkjoin.Pool) {
					before := p.Stats().NotJoined
					assert.Equal(t, 6, f.Call(p, 5))
					assert.EqualValues(t, 5, p.Stats().NotJoined-before)
					assert.Positive(t, texts.Swap(0))
					_, err := c.Call(t.Context(), p, 3)
					assert.Equal(t, errBad, err)
					assert.EqualValues(t, 5, p.Stats().NotJoined-before)
					_, err = many.Call(t.Context(), p, 0)
					assert.Equal(t, errBad, err)
					assert.EqualValues(t, 5, p.Stats().NotJoined-before)
					assert.Zero(t, texts.Load())
					assert.Equal(t, 1, panics.Call(p, 1))
					assert.EqualValues(t, 6, p.Stats().NotJoined-before)
					assert.Positive(t, texts.Swap(0))
				})
				silent, err := forkjoin.New(s, forkjoin.Config{Form: form})
				assert.NoError(t, err)
				forktest.FromEach(t, s, silent, func(p *forkjoin.Pool) {
					requirePanic(t, recovered(func() { panics.Call(p, 1) }))
				})
				assert.NoError(t, silent.Close())
			})
		},
	)
}
