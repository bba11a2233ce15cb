package sched

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/internal/clock"
)

// A judge counts looks: a program that was stopped for hours between two of them has not been quiet for hours.
func TestJudgesCountLooks(t *testing.T) {
	s, err := New(Config{Workers: 1})
	require.NoError(t, err)
	blocked := make(chan *Fiber, 1)
	require.NoError(t, s.Go(func() {
		blocked <- Current()
		Current().Wait(nil, nil)
	}))
	f := <-blocked
	v := s.survey()
	for ; !v.stuck(0); v = s.survey() {
		time.Sleep(time.Millisecond)
	}
	const limit = clock.Instant(time.Hour)
	o := deadlockJudge{s: s, limit: limit}
	for range 10 {
		assert.Nil(t, o.judge(v))
		o.looked -= 10 * limit
	}
	assert.LessOrEqual(t, o.lasts, 9*longestStep)
	assert.LessOrEqual(t, stepOf(limit), longestStep, "the next look is due within a step")
	f.Notify()
	require.NoError(t, s.Close())
}

// So does the judge of stalls.
func TestStallJudgeCountsLooks(t *testing.T) {
	s, err := New(Config{Workers: 1})
	require.NoError(t, err)
	release := make(chan struct{})
	for range 2 {
		require.NoError(t, s.Go(func() { <-release }))
	}
	w := s.workers[0]
	for w.tasks.load() == 0 {
		time.Sleep(time.Millisecond)
	}
	const limit = clock.Instant(time.Hour)
	o := stallJudge{s: s, limit: limit}
	assert.Empty(t, o.judge())
	for range 10 {
		assert.Empty(t, o.judge())
		require.NotNil(t, o.spells[w])
		o.spells[w].looked -= 10 * limit
	}
	assert.LessOrEqual(t, o.spells[w].lasts, 9*longestStep)
	close(release)
	require.NoError(t, s.Close())
}

// A task that has blocked its thread for long is no stall until others have waited for its worker for the limit, and
// two looks have found it there.
func TestStallIsNotReportedAtTheFirstLook(t *testing.T) {
	s, err := New(Config{Workers: 1})
	require.NoError(t, err)
	here, there := net.Pipe()
	// the place of a wait is in no package of sched
	require.NoError(t, s.Go(func() { _, _ = here.Read(make([]byte, 1)) }))
	for s.workers[0].blockedStack() == nil {
		time.Sleep(time.Millisecond)
	}
	const limit = clock.Instant(time.Second)
	o := stallJudge{s: s, limit: limit}
	look := func() []*Stall {
		if spell := o.spells[s.workers[0]]; spell != nil {
			spell.looked = clock.Now() - stepOf(limit)
		}
		return o.judge()
	}
	for range 2 * looksPerLimit {
		assert.Empty(t, look(), "no task waits")
	}
	require.NoError(t, s.Go(func() {}))
	for range looksPerLimit + 1 {
		assert.Empty(t, look(), "the task has not waited for long, or one look alone has found the other blocked")
	}
	stalls := look()
	assert.Empty(t, look(), "once")
	require.NoError(t, there.Close())
	require.NoError(t, s.Close())
	require.Len(t, stalls, 1)
	assert.Equal(t, 1, stalls[0].Tasks)
	assert.Contains(t, stalls[0].Error(), "net.(*pipe).Read")
}

// A look does not meet a fiber that begins on another thread half-made.
func TestLooksAtFibersThatBegin(t *testing.T) {
	s, err := New(Config{Workers: 1})
	require.NoError(t, err)
	var left atomic.Int64
	for range 50 {
		left.Add(1)
		require.NoError(t, s.Go(func() {
			Sleep(time.Millisecond)
			left.Add(-1)
		}))
	}
	for left.Load() > 0 {
		s.workers[0].blockedStack()
	}
	require.NoError(t, s.Close())
}

// A worker whose task blocks its thread is not stalled because of a task that only another worker can begin. That task
// was queued on the other worker, or is in its private queue in another group.
func TestStallIsNotThatOfAnotherWorker(t *testing.T) {
	for _, cfg := range []Config{{Workers: 2}, {Workers: 2, Policy: Group, Groups: Groups{Size: 1, Mode: AffinityMode}}} {
		s, err := New(cfg)
		require.NoError(t, err)
		here, there := net.Pipe()
		var over atomic.Bool
		require.NoError(t, s.EnqueueOn(0, Task{Func: func() {
			if cfg.Policy == Group {
				assert.NoError(t, s.Go(func() {}))
			}
			for !over.Load() {
			}
		}}))
		require.NoError(t, s.EnqueueOn(1, Task{Func: func() { _, _ = here.Read(make([]byte, 1)) }}))
		for _, w := range s.workers {
			for w.tasks.load() == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		if cfg.Policy != Group {
			require.NoError(t, s.EnqueueOn(0, Task{Func: func() {}}))
		}
		for s.Stats().Pending == 0 {
			time.Sleep(time.Millisecond)
		}
		const limit = clock.Instant(time.Second)
		o := stallJudge{s: s, limit: limit}
		for range 3 * looksPerLimit {
			for _, spell := range o.spells {
				spell.looked = clock.Now() - stepOf(limit)
			}
			assert.Empty(t, o.judge())
		}
		over.Store(true)
		require.NoError(t, there.Close())
		require.NoError(t, s.Close())
	}
}
