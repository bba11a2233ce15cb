package sched_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fiberlab/sched"
)

// program is some tasks that do random things, and what must come of it.
//
// It always ends: a cell is raised, in a task, only after waits for cells with
// smaller numbers, in that task or before it was scheduled. So all waits for the first
// cell come to their end, then those for the second, and so on.
type program struct {
	t           *testing.T
	cells       []*cell
	tasks       []*modelTask
	roots       []*modelTask
	progress    atomic.Uint64
	plain       sync.WaitGroup // goroutines that the tasks have started
	hasThreads  bool           // the workers are locked to threads, while they run tasks at least
	keepThreads bool           // they keep them
	tasksStay   bool           // each task keeps the thread on which it has begun
	threads     sync.Map       // of the workers
	mu          sync.Mutex
	known       []*sched.Fiber // that have run a task
}

// modelTask is a list of steps, and how often it ran.
type modelTask struct {
	steps  []step
	flags  sched.Flags
	by     *sched.Worker // that scheduled it, if it is SameThread
	thread int           // on which it was scheduled, if it is SameThread
	ran    atomic.Int32
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
	doPoke // notify a random fiber for no reason
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

// cell is a number that grows, and its waiters.
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

// wait reports whether the cell came to n within d. If d is negative, it waits without a limit.
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

// newTask makes a task and the tasks that it schedules. It may raise no cell before lowest.
func (p *program) newTask(rng *rand.Rand, size, lowest, depth int) *modelTask {
	task := &modelTask{}
	if rng.IntN(3) == 0 {
		task.flags = sched.SameThread
	}
	p.tasks = append(p.tasks, task)
	for range rng.IntN(8) {
		s := step{
			do: action(rng.IntN(actions)), share: rng.Float64(), d: time.Duration(rng.IntN(1500)) * time.Microsecond,
			pick: rng.Int(),
		}
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

// String says which tasks have not run, and how far the cells are.
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
