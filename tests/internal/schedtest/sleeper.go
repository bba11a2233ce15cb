package schedtest

import (
	"sync"

	"fiberlab/sched"
)

// Sleeper has a task that blocks until Wake.
type Sleeper struct {
	mu    sync.Mutex
	Fiber *sched.Fiber // of the task, once it runs
	woken bool
	Begun *Latch // opens with mu held, which is not released before the fiber is blocked
	Over  *Latch // opens when the task returns
}

// NewSleeper returns a sleeper whose task has not begun.
func NewSleeper() *Sleeper { return &Sleeper{Begun: NewLatch(1), Over: NewLatch(1)} }

// Task is the body of the task.
func (p *Sleeper) Task() {
	defer p.Over.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Fiber = sched.Current()
	p.Begun.Done()
	p.Fiber.Wait(&p.mu, func() bool { return p.woken })
}

// Blocked waits until the task is blocked, and returns its fiber.
func (p *Sleeper) Blocked() *sched.Fiber {
	p.Begun.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Fiber
}

// Wake makes the task go on, once it is blocked.
func (p *Sleeper) Wake() {
	p.Begun.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.woken = true
	p.Fiber.Notify()
}
