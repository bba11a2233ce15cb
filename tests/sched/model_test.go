package sched_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/trace"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// runProgram makes a program, runs it, and checks what came of it.
func runProgram(t *testing.T, b fiber.Backend, policy sched.Policy, rng *rand.Rand) {
	rec := trace.NewRecorder(1 << 20)
	cfg := sched.Config{
		Backend:     b,
		Policy:      policy,
		Workers:     []int{0, 1, 2, 3, 4, 8}[rng.IntN(6)],
		MaxIdle:     []int{0, 1, 2, 5}[rng.IntN(4)],
		KeepThreads: rng.IntN(2) == 0,
		GiveUpAfter: -1, // the watchdog judges what is a deadlock
		Recorder:    rec,
	}
	p := newProgram(t, rng, 1+rng.IntN(suite.Scaled(150, 60)))
	p.hasThreads = suite.HasThreads(cfg)
	p.keepThreads = p.hasThreads && !suite.GivesThreadsUp(cfg)
	p.tasksStay = p.hasThreads && suite.Stay(cfg)
	s, err := sched.New(cfg)
	require.NoError(t, err)
	schedtest.Watch(t, schedtest.Watched{Scheduler: s, Recorder: rec, Progress: &p.progress, State: p.String}, func() {
		if cfg.Workers == 0 || rng.IntN(3) == 0 {
			p.bound(s, rng.IntN(2) == 0)
		} else {
			for _, task := range p.roots {
				err := s.Enqueue(sched.Task{Func: func() { p.live(task) }})
				p.check(err == nil, "enqueue: %v", err)
			}
		}
		assert.NoError(t, s.Close())
	})
	p.finished()
	stats := s.Stats()
	assert.Equal(t, cfg.Workers, stats.Fibers, "fibers left beside the main ones")
	assert.Zero(t, stats.Idle+stats.Blocked+stats.Pending)
	assert.Equal(t, rec.Transitions(), accounted(t, rec.Events(sched.KindTransition)))
	require.False(t, t.Failed(), "%d workers, %d idle fibers at most, %d tasks", cfg.Workers, cfg.MaxIdle, len(p.tasks))
}

// bound runs the program from a bound goroutine, which may wait itself.
func (p *program) bound(s *sched.Scheduler, waits bool) {
	if !assert.NoError(p.t, s.Bind()) {
		return
	}
	defer func() { assert.NoError(p.t, sched.Unbind()) }()
	for _, task := range p.roots {
		p.schedule(task)
	}
	if waits {
		last := p.cells[len(p.cells)-1]
		p.check(last.wait(sched.Current(), last.total, -1), "Wait returned where the predicate does not hold")
	}
}

func TestModel(t *testing.T) {
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		rng := suite.NewRand(t)
		for i := range suite.Scaled(60, 12) {
			policy := sched.Policies()[i%len(sched.Policies())]
			t.Run(fmt.Sprintf("%d/%v", i, policy), func(t *testing.T) { runProgram(t, b, policy, rng) })
		}
	})
}
