package forkjoin

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

// inTask calls f, which must not call FailNow, in a task of a new heartbeat pool, with so many workers on two processors.
func inTask(t *testing.T, workers int, beat time.Duration, f func(h *heartbeat, p *Pool)) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	s, err := sched.New(sched.Config{Workers: workers})
	require.NoError(t, err)
	pool, err := New(s, Config{Beat: beat})
	require.NoError(t, err)
	h := pool.of.form.(*heartbeat)
	root := NewFunc(func(s *Strand[int, int], _ int) int {
		f(h, s.Pool())
		return 0
	})
	require.NoError(t, fibersync.On(s, func() { root.Call(pool, 0) }))
	require.NoError(t, pool.Close())
	require.Zero(t, poolsBusy.Load(), "after Close")
	require.Zero(t, h.strands.Load(), "after Close")
	require.Zero(t, h.lingerers.Load(), "after Close")
	require.NoError(t, s.Close())
	requireNoBeat(t)
}

// forkUntil forks and joins until f returns true, and returns false if that takes too long.
func forkUntil(p *Pool, f func() bool) bool {
	for limit := time.Now().Add(time.Minute); !f(); {
		if time.Now().After(limit) {
			return false
		}
		Join(p, func(*Pool) int { return 0 }, func(*Pool) int { return 0 })
	}
	return true
}

// While all workers have work, no beat interrupts them. While one has none, beats come.
func TestBeatsOnlyWhileAWorkerIsIdle(t *testing.T) {
	inTask(t, 1, testPeriod, func(_ *heartbeat, p *Pool) {
		assert.True(t, forkUntil(p, func() bool { return poolsBusy.Load() == 0 }), "the only worker is busy, and beats come")
	})
	inTask(t, 2, testPeriod, func(*heartbeat, *Pool) {
		assert.EqualValues(t, 1, poolsBusy.Load(), "one of two workers is idle")
		before := beats.Load()
		assert.Eventually(t, func() bool { return beats.Load()-before >= 3 }, time.Minute, time.Millisecond, "no beats")
	})
}

// A drainer that finds no job beats itself, and strands hand out forks for it. The thread of the beat does nothing here: its period is too long.
func TestDrainerThatLingersBeats(t *testing.T) {
	inTask(t, 2, 24*time.Hour, func(h *heartbeat, p *Pool) {
		var drained *Future[int]
		assert.True(t, forkUntil(p, func() bool {
			if drained == nil || h.pool.loads[0].active.Load() < 2 { // the drainer has ended before this task has forked
				if drained != nil {
					_, _ = drained.Get()
				}
				h.asked.Store(-int64(25 * time.Hour))
				drained = Submit(p, func(*Pool) (int, error) { return 0, nil }) // a drainer takes it, unless Get does
			}
			return h.pool.handed.Load() > 0
		}), "no fork has been handed out")
		_, err := drained.Get()
		assert.NoError(t, err)
	})
}
