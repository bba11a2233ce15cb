package tests

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
)

// program is some tasks that do random things, and what must come of it.
//
// It always ends: a cell is raised, in a task, only after waits for cells with
// smaller numbers, in that task or before it was scheduled. So all waits for the first
// cell come to their end, then those for the second, and so on.
type program struct {
	t        *testing.T
	cells    []*cell
	tasks    []*modelTask
	roots    []*modelTask
	progress atomic.Uint64
	plain    sync.WaitGroup // goroutines that the tasks have started
	threads  sync.Map       // of the workers
	mu       sync.Mutex
	known    []*sched.Fiber // that have run a task
}

// modelTask is a list of steps, and how often it ran.
type modelTask struct {
	steps []step
	flags sched.Flags
	by    *sched.Worker // that scheduled it, if it is SameThread
	ran   atomic.Int32
}

type action uint8

const (
	doYield action = iota
	doSleep
	doSchedule // the child
	doRaise    // the cell
	doRaiseOutside
	doWait    // for a share of all that the cell will be raised
	doWaitFor // the same, or more than it will be, with a deadline
	doWaitBare
	doMeet // wait without a predicate, for a child that notifies
	doPoke // notify somebody for no reason
	doCollect
	actions = iota
)

type step struct {
	do    action
	cell  *cell
	child *modelTask
	share float64 // above 1: never
	d     time.Duration
	pick  int
}

// cell is a number that grows, and those who wait for it.
type cell struct {
	mu      sync.Mutex
	value   int
	total   int // what it will be in the end
	waiters map[*sched.Fiber]int
}

func (c *cell) raise() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.value++
	for f := range c.waiters {
		f.Notify()
	}
}

// wait tells whether the cell came to n within d; if d is negative, it waits for ever.
func (c *cell) wait(f *sched.Fiber, n int, d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiters[f]++
	defer delete(c.waiters, f)
	reached := func() bool { return c.value >= n }
	if d < 0 {
		f.Wait(&c.mu, reached)
		return c.value >= n
	}
	held := f.WaitFor(&c.mu, d, reached)
	if held != (c.value >= n) {
		panic(fmt.Sprintf("WaitFor returned %v where the cell is %d and %d was waited for", held, c.value, n))
	}
	return held
}

// newProgram makes one with about so many tasks.
func newProgram(t *testing.T, rng *rand.Rand, size int) *program {
	p := &program{t: t}
	for range 1 + rng.IntN(6) {
		p.cells = append(p.cells, &cell{waiters: map[*sched.Fiber]int{}})
	}
	for len(p.tasks) < size {
		p.roots = append(p.roots, p.newTask(rng, size, 0, 0))
	}
	return p
}

// newTask makes a task and those that it schedules. It may raise no cell before lowest.
func (p *program) newTask(rng *rand.Rand, size, lowest, depth int) *modelTask {
	task := &modelTask{}
	if rng.IntN(3) == 0 {
		task.flags = sched.SameThread
	}
	p.tasks = append(p.tasks, task)
	for range rng.IntN(8) {
		s := step{do: action(rng.IntN(actions)), share: rng.Float64(), d: time.Duration(rng.IntN(1500)) * time.Microsecond, pick: rng.Int()}
		switch at := rng.IntN(len(p.cells)); s.do {
		case doSchedule:
			if len(p.tasks) >= size || depth > 10 {
				continue
			}
			s.child = p.newTask(rng, size, lowest, depth+1)
		case doRaise, doRaiseOutside:
			if lowest == len(p.cells) {
				continue
			}
			s.cell = p.cells[lowest+rng.IntN(len(p.cells)-lowest)]
			s.cell.total++
		case doWait:
			s.cell = p.cells[at]
			lowest = max(lowest, at+1)
		case doWaitFor:
			s.cell = p.cells[at]
			s.share *= 1.5
		case doCollect:
			if rng.IntN(20) > 0 {
				continue
			}
		}
		task.steps = append(task.steps, s)
	}
	return task
}

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

// String tells which tasks have not run, and how far the cells are.
func (p *program) String() string {
	pending := 0
	for _, task := range p.tasks {
		if task.ran.Load() == 0 {
			pending++
		}
	}
	text := fmt.Sprintf("%d of %d tasks have not begun", pending, len(p.tasks))
	for i, c := range p.cells {
		text += fmt.Sprintf("; cell %d: %d of %d, %d wait", i, c.value, c.total, len(c.waiters))
	}
	return text
}

// runProgram makes a program, runs it, and checks what came of it.
func runProgram(t *testing.T, b fiber.Backend, rng *rand.Rand) {
	cfg := sched.Config{
		Backend:  b,
		Workers:  []int{0, 1, 2, 3, 4, 8}[rng.IntN(6)],
		MaxIdle:  []int{0, 1, 2, 5}[rng.IntN(4)],
		Patience: -1, // the watchdog judges what is a deadlock
		Recorder: sched.NewRecorder(1 << 20),
	}
	p := newProgram(t, rng, 1+rng.IntN(scaled(150, 60)))
	s, err := sched.New(cfg)
	require.NoError(t, err)
	watchdog(t, s, cfg.Recorder, &p.progress, p.String)
	if cfg.Workers == 0 || rng.IntN(3) == 0 {
		p.bound(s, rng.IntN(2) == 0)
	} else {
		for _, task := range p.roots {
			err := s.Enqueue(sched.Task{Func: func() { p.live(task) }})
			p.check(err == nil, "enqueue: %v", err)
		}
	}
	assert.NoError(t, s.Close())
	p.finished()
	stats := s.Stats()
	assert.Equal(t, cfg.Workers, stats.Fibers, "fibers left beside the main ones")
	assert.Zero(t, stats.Idle+stats.Blocked+stats.Pending)
	assert.Equal(t, cfg.Recorder.Transitions(), accounted(t, cfg.Recorder.Events()))
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

// accounted follows each fiber through its transitions, checks that they are legal and
// hang together, that each worker runs one fiber at a time, and that all
// that began has ended. It returns how many there were.
func accounted(t *testing.T, events []sched.Event) sched.Transitions {
	type place struct{ worker, fiber int }
	var sum sched.Transitions
	states := map[place]sched.State{}
	running := map[int]int{} // fibers that run, by worker
	for _, e := range events {
		at := place{e.Worker, e.Fiber}
		state, known := states[at]
		if !known && e.Fiber == 0 {
			state = sched.Running
			running[e.Worker]++
		}
		ok := assert.Equal(t, state, e.From, "%+v", e) && assert.True(t, sched.Legal(e.From, e.To, e.Why), "%+v", e)
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
			assert.Equal(t, sched.Running, state, "main fiber of worker %d at the end", at.worker)
		} else {
			assert.Equal(t, sched.Idle, state, "fiber %d of worker %d at the end", at.fiber, at.worker)
		}
	}
	return sum
}

func TestSchedulerModel(t *testing.T) {
	eachBackend(t, func(t *testing.T, b fiber.Backend) {
		rng := newRand(t)
		for i := range scaled(60, 12) {
			t.Run(fmt.Sprint(i), func(t *testing.T) { runProgram(t, b, rng) })
		}
	})
}
