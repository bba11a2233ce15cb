package demo

import (
	"errors"
	"runtime"
	"slices"
	"sync"
)

// errAbandoned is the result of a future of a plain pool that was stuck and was taken apart.
var errAbandoned = errors.New("the pool was stuck and has been taken apart")

// plainPool is a pool as textbooks have it: threads, a queue of tasks, one lock. A get waits until its future is done,
// and does nothing else.
type plainPool struct {
	mu        sync.Mutex
	changed   sync.Cond // a task was queued or done, or the pool is over. L is mu
	queue     []*plainFuture
	threads   []*plainThread
	over      bool // the threads end when the queue is empty
	abandoned bool // the threads end, and so do their waits
	ended     sync.WaitGroup
}

// plainFuture is a task, and its result when it is done.
type plainFuture struct {
	name   string
	task   func(x executor) (int, error)
	done   bool
	result int
	err    error
}

// plainThread is a thread of the pool. Its tasks get it as their executor.
type plainThread struct {
	pool   *plainPool
	number int
	runs   *plainFuture // nil: nothing
	waits  *plainFuture // what its task waits for; nil: nothing
}

func newPlainPool() *plainPool {
	p := &plainPool{}
	p.changed.L = &p.mu
	return p
}

// start starts so many threads. Tasks may be submitted before.
func (p *plainPool) start(threads int) {
	for i := range threads {
		p.threads = append(p.threads, &plainThread{pool: p, number: i})
	}
	for _, t := range p.threads {
		p.ended.Add(1)
		go t.loop()
	}
}

// submit queues a task.
func (p *plainPool) submit(name string, task func(x executor) (int, error)) *plainFuture {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := &plainFuture{name: name, task: task}
	p.queue = append(p.queue, f)
	p.changed.Broadcast()
	return f
}

// loop takes one task after the other, the oldest first, and runs it.
func (t *plainThread) loop() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p := t.pool
	defer p.ended.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for len(p.queue) == 0 && !p.over && !p.abandoned {
			p.changed.Wait()
		}
		if p.abandoned || len(p.queue) == 0 {
			return
		}
		f := p.queue[0]
		p.queue = p.queue[1:]
		t.runs = f
		p.mu.Unlock()
		result, err := f.task(t)
		p.mu.Lock()
		f.result, f.err, f.done = result, err, true
		t.runs = nil
		p.changed.Broadcast()
	}
}

// end returns the result of a pool that is over.
func (f *plainFuture) end() (int, error) {
	if !f.done {
		return 0, errAbandoned
	}
	return f.result, f.err
}

func (t *plainThread) fork(name string, task func(x executor) (int, error)) func() (int, error) {
	f := t.pool.submit(name, task)
	return func() (int, error) { return t.get(f) }
}

func (t *plainThread) place() (int, any) { return t.number, t }

// get waits until f is done, on t.
func (t *plainThread) get(f *plainFuture) (int, error) {
	p := t.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	t.waits = f
	p.changed.Broadcast() // the pool may be stuck now
	for !f.done {
		if p.abandoned {
			return 0, errAbandoned
		}
		p.changed.Wait()
	}
	t.waits = nil
	return f.result, f.err
}

// isStuck reports whether nothing can happen in the pool any more although tasks are left. Then every thread waits for
// a task that is not done, and none is free to take that task from the queue. The caller holds mu.
func (p *plainPool) isStuck() bool {
	for _, t := range p.threads {
		if t.waits == nil || t.waits.done {
			return false
		}
	}
	return true
}

// finish waits until the futures are done or the pool is stuck, and ends the pool. It returns who waits for whom, or
// nil if all are done. Then no thread of the pool is left.
func (p *plainPool) finish(futures []*plainFuture) []StuckThread {
	p.mu.Lock()
	for !p.isStuck() && slices.ContainsFunc(futures, func(f *plainFuture) bool { return !f.done }) {
		p.changed.Wait()
	}
	var stuck []StuckThread
	if p.isStuck() {
		for _, t := range p.threads {
			stuck = append(stuck, StuckThread{t.number, t.runs.name, t.waits.name, slices.Index(p.queue, t.waits) + 1})
		}
		p.abandoned = true
	}
	p.over = true
	p.changed.Broadcast()
	p.mu.Unlock()
	p.ended.Wait()
	return stuck
}
