package tests

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/sched"
)

// The numbers of workers that the scheduler's tests run with. Without workers the
// test's own goroutine is bound and runs the tasks while it waits.
var (
	anyWorkers     = []int{0, 1, 2, 4, 8, 64}
	someWorkers    = []int{1, 2, 4, 8, 64}
	severalWorkers = []int{2, 4, 8, 64}
	oneThread      = []int{0, 1}
)

// eachScheduler runs test for every backend and each of the numbers of workers, with
// a scheduler of its own, and checks that nothing is left of it. If it has no workers
// it is bound to the test's goroutine.
func eachScheduler(t *testing.T, workers []int, test func(t *testing.T, s *sched.Scheduler)) {
	t.Helper()
	eachConfig(t, workers, func(t *testing.T, cfg sched.Config) { onScheduler(t, cfg, test) })
}

// eachConfig is eachScheduler for tests that make their schedulers themselves.
func eachConfig(t *testing.T, workers []int, test func(t *testing.T, cfg sched.Config)) {
	t.Helper()
	eachBackend(t, func(t *testing.T, b fiber.Backend) {
		for _, n := range workers {
			t.Run(fmt.Sprintf("workers=%d", n), func(t *testing.T) {
				before := fiber.ReadStats()
				test(t, sched.Config{Workers: n, Backend: b})
				after := fiber.ReadStats()
				assert.Equal(t, before.Fibers, after.Fibers, "fibers that were not closed")
				assert.Equal(t, before.Roots, after.Roots, "roots that were not detached")
				assert.Nil(t, sched.Get(), "a scheduler that was not unbound")
			})
		}
	})
}

// onScheduler makes a scheduler, runs test, and ends the scheduler.
func onScheduler(t *testing.T, cfg sched.Config, test func(t *testing.T, s *sched.Scheduler)) {
	t.Helper()
	s, err := sched.New(cfg)
	require.NoError(t, err)
	defer func() { assert.NoError(t, s.Close()) }()
	if cfg.Workers == 0 {
		require.NoError(t, s.Bind())
		defer func() { assert.NoError(t, sched.Unbind()) }()
	}
	test(t, s)
}

// schedule queues a task, and marks the test as failed if that does not work. It may
// be called in tasks.
func schedule(t *testing.T, s *sched.Scheduler, f func()) {
	assert.NoError(t, s.Enqueue(sched.Task{Func: f}))
}

// scheduleHere queues a task for the worker that the caller runs on.
func scheduleHere(t *testing.T, s *sched.Scheduler, f func()) {
	assert.NoError(t, s.Enqueue(sched.Task{Func: f, Flags: sched.SameThread}))
}

// perform runs f as a task and returns when it has returned.
func perform(t *testing.T, s *sched.Scheduler, f func()) {
	l := newLatch(1)
	schedule(t, s, func() {
		defer l.done()
		f()
	})
	l.wait()
}

// holdWorkers runs a task on each of n workers, all at the same time: each holds its
// thread until all have one. It returns when all bodies have returned.
func holdWorkers(t *testing.T, s *sched.Scheduler, n int, body func(task int)) {
	var met sync.WaitGroup
	met.Add(n)
	over := newLatch(n)
	for i := range n {
		schedule(t, s, func() {
			defer over.done()
			met.Done()
			met.Wait()
			body(i)
		})
	}
	over.wait()
}

// latch opens when so many have said done. Fibers wait for it as fibers do.
type latch struct {
	mu      sync.Mutex
	left    int
	open    chan struct{}
	waiters []*sched.Fiber
}

func newLatch(n int) *latch { return &latch{left: n, open: make(chan struct{})} }

func (l *latch) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left--; l.left != 0 {
		return
	}
	close(l.open)
	for _, f := range l.waiters {
		f.Notify()
	}
}

// wait blocks the calling fiber, or the goroutine if it is none.
func (l *latch) wait() {
	f := sched.Current()
	if f == nil {
		<-l.open
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiters = append(l.waiters, f)
	f.Wait(&l.mu, func() bool { return l.left == 0 })
}

// isOpen tells whether the latch is open, and blocks nobody.
func (l *latch) isOpen() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.left == 0
}

// sleeper has a task that blocks until somebody wakes it.
type sleeper struct {
	mu    sync.Mutex
	fiber *sched.Fiber
	woken bool
	begun *latch // opens with mu held, which is not released before the fiber is blocked
	over  *latch
}

func newSleeper() *sleeper { return &sleeper{begun: newLatch(1), over: newLatch(1)} }

func (p *sleeper) task() {
	defer p.over.done()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fiber = sched.Current()
	p.begun.done()
	p.fiber.Wait(&p.mu, func() bool { return p.woken })
}

// blocked returns the fiber of the task, once that is blocked.
func (p *sleeper) blocked() *sched.Fiber {
	p.begun.wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fiber
}

// wake makes the task go on.
func (p *sleeper) wake() {
	p.begun.wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.woken = true
	p.fiber.Notify()
}

// journal is a list that many threads write.
type journal[T any] struct {
	mu   sync.Mutex
	list []T
}

func (j *journal[T]) add(v T) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.list = append(j.list, v)
}

// all returns what has been written.
func (j *journal[T]) all() []T {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]T(nil), j.list...)
}

// distinct returns how many different values there are in list.
func distinct[T comparable](list []T) int {
	set := make(map[T]struct{})
	for _, v := range list {
		set[v] = struct{}{}
	}
	return len(set)
}

// tid is the kernel's number of the calling thread.
func tid() int { return unix.Gettid() }
