package sched

import (
	"bytes"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
)

// Workers that can make no fiber for tasks that have not begun report these, and what keeps
// them; and all goes on when there is memory again.
func TestCloseReportsExhaustedWorkers(t *testing.T) {
	defer func() { newFiber = fiber.New }()
	for _, b := range fiber.Backends() {
		for _, workers := range []int{1, 3} {
			var lent atomic.Bool
			broke := errors.New("no memory")
			newFiber = func(cfg fiber.Config, body func()) (*fiber.Fiber, error) {
				if !lent.Load() {
					return nil, broke
				}
				return fiber.New(cfg, body)
			}
			s, err := New(Config{Workers: workers, Backend: b, Patience: 10 * time.Millisecond, Exhausted: func(error) {}})
			require.NoError(t, err)
			f := newFlag()
			for range workers {
				g := newFlag() // each worker has one fiber, which this will block
				require.NoError(t, s.Enqueue(Task{Func: g.await}))
				go func() {
					for !lent.Load() {
						time.Sleep(time.Millisecond)
					}
					g.raise()
				}()
				<-g.held
			}
			require.NoError(t, s.Enqueue(Task{Func: f.await}))
			result := make(chan error)
			go func() { result <- s.Close() }()
			select {
			case err = <-result:
			case <-time.After(hang):
				t.Fatalf("%v, %d workers: Close has not returned for %v", b, workers, hang)
			}
			var deadlock *Deadlock
			require.ErrorAs(t, err, &deadlock)
			assert.Len(t, deadlock.Fibers, workers)
			require.NotEmpty(t, deadlock.Exhausted)
			assert.ErrorIs(t, deadlock.Exhausted[0], broke)
			assert.ErrorContains(t, err, "1 tasks cannot begin")
			lent.Store(true)
			f.raise()
			require.NoError(t, s.Close())
		}
	}
}

// callsOf is how many goroutines are inside of a function.
func callsOf(function string) int {
	stacks := make([]byte, 1<<20)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte(function+"("))
}

// All who close at the same time get the same result, be it an error or not.
func TestConcurrentCloses(t *testing.T) {
	const callers = 5
	for _, b := range fiber.Backends() {
		s, err := New(Config{Workers: 2, Backend: b, Patience: 10 * time.Millisecond})
		require.NoError(t, err)
		for _, blocked := range []bool{true, false} {
			f := newFlag()
			if blocked {
				require.NoError(t, s.Enqueue(Task{Func: f.await}))
			}
			var free atomic.Bool
			require.NoError(t, s.Enqueue(Task{Func: func() {
				for !free.Load() {
					runtime.Gosched()
				}
			}}))
			errs := make(chan error)
			for range callers {
				go func() { errs <- s.Close() }()
			}
			eventually(t, "all in Close", func() bool { return callsOf("fiberlab/sched.(*Scheduler).Close") == callers })
			free.Store(true)
			first := <-errs
			assert.Equal(t, blocked, errors.Is(first, ErrDeadlock), "%v: %v", b, first)
			for range callers - 1 {
				err := <-errs
				assert.True(t, err == first, "%v and %v", first, err)
			}
			if blocked {
				f.raise()
			}
		}
		require.ErrorIs(t, s.Close(), ErrClosed)
	}
}

// An inquiry gives the lock up again and again: a fiber that is notified while others are
// asked cuts it short.
func TestInquiryLetsNotifiersIn(t *testing.T) {
	const fibers = 2000
	s, err := New(Config{Workers: 1})
	require.NoError(t, err)
	flags := make([]*flag, fibers)
	for i := range flags {
		flags[i] = newFlag()
		require.NoError(t, s.Enqueue(Task{Func: flags[i].await}))
	}
	for _, f := range flags {
		<-f.held
	}
	w := s.workers[0]
	short := func() bool {
		eventually(t, "asleep", w.sleeps)
		i := &inquiry{done: make(chan struct{})}
		w.work.lock()
		w.work.inquiry = i
		w.work.unlock()
		w.bell.ring()
		for w.bell.isAsleep() {
		}
		flags[0].who.Notify() // its predicate does not hold: it waits on
		<-i.done
		return len(i.answers) < fibers
	}
	eventually(t, "a notifier came in between", short)
	for _, f := range flags {
		f.raise()
	}
	require.NoError(t, s.Close())
}
