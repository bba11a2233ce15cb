package sched_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/trace"
)

// finished checks that each task ran once, and each cell was raised as often as it
// should have been.
func (p *program) finished() {
	p.plain.Wait()
	for i, task := range p.tasks {
		p.check(task.ran.Load() == 1, "task %d of %d ran %d times", i, len(p.tasks), task.ran.Load())
	}
	for i, c := range p.cells {
		p.check(c.value == c.total, "cell %d is %d instead of %d", i, c.value, c.total)
		p.check(len(c.waiters) == 0, "cell %d has waiters left", i)
	}
}

// accounted follows each fiber through its transitions, and returns their number. It checks that they are legal and
// consistent, that each worker runs one fiber at a time, and that everything that began has ended.
func accounted(t *testing.T, events []sched.Event) trace.Transitions {
	type place struct{ maker, fiber int }
	var sum trace.Transitions
	states := map[place]sched.State{}
	running := map[int]int{} // fibers that run, by worker
	for _, e := range events {
		at := place{e.Maker, e.Fiber}
		state, known := states[at]
		if !known && e.Fiber == 0 {
			state = sched.Running
			running[e.Worker]++
		}
		ok := assert.Equal(t, state, e.From, "%+v", e) && assert.True(t, isLegal(e.From, e.To, e.Why), "%+v", e)
		if e.From == sched.Running {
			running[e.Worker]--
		}
		if e.To == sched.Running {
			running[e.Worker]++
		}
		if !ok || !assert.LessOrEqual(t, running[e.Worker], 1, "%+v", e) {
			break
		}
		states[at] = e.To
		sum[e.From][e.To]++
	}
	for at, state := range states {
		if at.fiber == 0 {
			assert.Equal(t, sched.Running, state, "main fiber of worker %d at the end", at.maker)
		} else {
			assert.Equal(t, sched.Idle, state, "fiber %d of worker %d at the end", at.fiber, at.maker)
		}
	}
	return sum
}
