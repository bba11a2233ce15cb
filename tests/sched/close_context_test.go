package sched_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

var errInterval = errors.New("the interval is over")

// over is a context that is done, because of errInterval.
func over() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errInterval)
	return ctx
}

// isDone reports whether Done of s is closed.
func isDone(s *sched.Scheduler) bool {
	select {
	case <-s.Done():
		return true
	default:
		return false
	}
}

// A CloseContext that gives up says what is left, and leaves it as it was.
func TestCloseContextSaysWhatIsLeft(t *testing.T) {
	suite.EachConfig(t, suite.SomeWorkers, func(t *testing.T, cfg sched.Config) {
		cfg.Name, cfg.GiveUpAfter = "the theatre", -1
		s, err := sched.New(cfg)
		require.NoError(t, err)
		p := schedtest.NewSleeper()
		require.NoError(t, s.Enqueue(sched.Task{Func: p.Task, Name: "Vladimir"}))
		waiting := p.Blocked()
		for waiting.State() != sched.Yielded {
			time.Sleep(time.Microsecond)
		}
		// All workers compute, and one task more waits for them.
		var begun atomic.Int64
		end := make(chan struct{})
		for range cfg.Workers {
			require.NoError(t, s.Enqueue(sched.Task{Name: "Pozzo", Func: func() { begun.Add(1); <-end }}))
		}
		for begun.Load() != int64(cfg.Workers) {
			time.Sleep(time.Microsecond)
		}
		ran := schedtest.NewLatch(1)
		schedtest.Schedule(t, s, ran.Done)
		ctx, cancel := context.WithTimeoutCause(context.Background(), time.Millisecond, errInterval)
		defer cancel()
		for _, ctx := range []context.Context{ctx, over()} {
			err = inTime(t, "CloseContext", func() error { return s.CloseContext(ctx) })
			require.ErrorIs(t, err, errInterval)
			assert.ErrorContains(t, err, fmt.Sprintf(
				"close the theatre: the interval is over: left are 1 tasks that have not begun, %d that have "+
					"begun, 1 blocked fibers, 0 bound goroutines",
				cfg.Workers+1,
			))
			assert.False(t, isDone(s))
		}
		schedtest.Schedule(t, s, func() {}) // it is open
		close(end)
		ran.Wait()
		p.Wake()
		require.NoError(t, s.CloseContext(context.Background()))
		assert.True(t, isDone(s))
		require.ErrorIs(t, s.CloseContext(over()), sched.ErrClosed)
		require.ErrorIs(t, s.Close(), sched.ErrClosed)
	})
}

// Fibers with a deadline count as well, and goroutines that are bound.
func TestCloseContextCountsWhatWaits(t *testing.T) {
	suite.EachConfig(t, []int{0, 2}, func(t *testing.T, cfg sched.Config) {
		cfg.GiveUpAfter = -1
		s, err := sched.New(cfg)
		require.NoError(t, err)
		p, late, unbound := schedtest.NewSleeper(), make(chan *sched.Fiber, 1), make(chan struct{})
		go func() {
			defer close(unbound)
			assert.NoError(t, s.Bind())
			schedtest.ScheduleHere(t, s, func() {
				late <- sched.Current()
				assert.True(t, sched.Current().WaitFor(nil, time.Hour, nil))
			})
			waitForGodot(p)
			assert.NoError(t, sched.Unbind())
		}()
		other := <-late
		for s.Stats().Blocked < 2 {
			time.Sleep(time.Microsecond)
		}
		assert.ErrorContains(t, inTime(t, "CloseContext", func() error { return s.CloseContext(over()) }),
			"left are 0 tasks that have not begun, 1 that have begun, 2 blocked fibers, 1 bound goroutines")
		other.Notify()
		p.Wake()
		<-unbound
		require.NoError(t, s.Close())
	})
}

// Several close at the same time, each with its own limit: those whose time is over give up, the others go on.
func TestCloseAndCloseContextTogether(t *testing.T) {
	suite.EachConfig(t, suite.SomeWorkers, func(t *testing.T, cfg sched.Config) {
		cfg.GiveUpAfter = -1
		s, err := sched.New(cfg)
		require.NoError(t, err)
		p := schedtest.NewSleeper()
		schedtest.Schedule(t, s, p.Task)
		p.Blocked()
		ctx, cancel := context.WithCancelCause(context.Background())
		const each = 3
		limited, endless := make(chan error, each), make(chan error, 2*each)
		for range each {
			go func() { limited <- s.CloseContext(ctx) }()
			go func() { endless <- s.Close() }()
			go func() { endless <- s.CloseContext(context.Background()) }()
		}
		for s.Enqueue(sched.Task{Func: func() {}}) == nil {
			time.Sleep(10 * time.Microsecond)
		}
		cancel(errInterval)
		for range each {
			assert.ErrorIs(t, <-limited, errInterval)
		}
		assert.Empty(t, endless)
		assert.False(t, isDone(s))
		p.Wake()
		succeeded := 0
		for range 2 * each {
			// A call that comes when the others are through finds the scheduler closed.
			if err := <-endless; err == nil {
				succeeded++
			} else {
				assert.ErrorIs(t, err, sched.ErrClosed)
			}
		}
		assert.NotZero(t, succeeded)
		<-s.Done()
	})
}

// A deadlock ends CloseContext before its context does.
func TestCloseContextReportsDeadlock(t *testing.T) {
	suite.EachConfig(t, suite.SomeWorkers, func(t *testing.T, cfg sched.Config) {
		cfg.GiveUpAfter, cfg.Name = shortLimit, "the theatre"
		s, err := sched.New(cfg)
		require.NoError(t, err)
		p := schedtest.NewSleeper()
		schedtest.Schedule(t, s, func() { waitForGodot(p) })
		p.Blocked()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		requireDeadlock(t, inTime(t, "CloseContext", func() error { return s.CloseContext(ctx) }), 1)
		p.Wake()
		require.NoError(t, s.CloseContext(ctx))
	})
}

func TestCloseContextMisuse(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		var absent context.Context
		assert.ErrorIs(t, s.CloseContext(absent), sched.ErrNilContext)
		schedtest.Perform(t, s, func() {
			err := s.CloseContext(over())
			assert.True(t, errors.Is(err, sched.ErrInTask) || errors.Is(err, sched.ErrBound), "%v", err)
		})
		assert.False(t, isDone(s))
	})
}
