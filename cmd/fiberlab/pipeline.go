package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"fiberlab/sched"
)

const (
	chunkSize   = 64 << 10 // bytes that a read task asks for at a time
	chunksAhead = 4        // chunks between a read and a split task
	batchSize   = 32 << 10 // bytes of words that a split task hands on at once
	batchesHeld = 8        // batches before the count task
	fewestLanes = 4

	// tick is how often the clock task looks.
	tick = 20 * time.Millisecond
	// linger is how long a split task holds back the words of a file whose next chunk does not come.
	linger = 5 * time.Millisecond
)

// pipeline counts words by tasks of one scheduler:
//
//	read -- chunks --> split --+
//	read -- chunks --> split --+-- batches --> count        clock
//	read -- chunks --> split --+
//
// Each row on the left is a lane; a lane's read task takes the next file when it has read one. All arrows
// are bounded queues. There are more tasks than workers, whatever the number of workers, and most
// of them are blocked at any time: a stage that is ahead waits for room, one that is behind for work.
type pipeline struct {
	ctx   context.Context
	files []textFile
	open  opener
	done  *atomic.Int64
	sched *sched.Scheduler

	lanes     []*lane
	nextFile  atomic.Int64
	splitting atomic.Int64 // split tasks that have not ended
	batches   *queue[batch]

	mu        sync.Mutex
	tally     *tally         // the count task's; its failures are guarded by mu
	assembled []*sched.Fiber // stages that stand at the gate
	begun     bool           // the gate is open
	finished  bool           // the count task has ended
	clock     *sched.Fiber
	err       error // why the work was stopped early
	activity  activity
}

// activity is what the scheduler was given to do.
type activity struct {
	tasks   int // of all kinds
	blocked int // tasks that were blocked at once, when the last stage had come to the gate
}

// lane is what one read and one split task share.
type lane struct {
	chunks *queue[chunk]
	bytes  atomic.Int64 // read so far
}

// chunk is a piece of one file. The last one of a file is empty.
type chunk struct {
	file int
	data []byte
	last bool
}

// batch is some words of one file, each with a newline behind it.
type batch struct {
	file int
	text []byte
}

// countOnFibers counts the words of files by tasks of a scheduler that is made after cfg, and returns the
// count. Without workers of its own, the scheduler is bound to the caller. It keeps done at the
// number of bytes read. Nothing of the scheduler is left when it returns, also when ctx ended the
// work early.
func countOnFibers(ctx context.Context, cfg sched.Config, files []textFile, open opener,
	done *atomic.Int64) (*tally, activity, error) {
	s, err := sched.New(cfg)
	if err != nil {
		return nil, activity{}, fmt.Errorf("pipeline on %v: %w", cfg.Backend, err)
	}
	p := &pipeline{ctx: ctx, files: files, open: open, done: done, sched: s,
		batches: newQueue[batch](batchesHeld), tally: newTally(len(files))}
	for range max(cfg.Workers, fewestLanes) {
		p.lanes = append(p.lanes, &lane{chunks: newQueue[chunk](chunksAhead)})
	}
	p.splitting.Store(int64(len(p.lanes)))
	if err := p.run(cfg.Workers == 0); err != nil {
		return nil, activity{}, fmt.Errorf("pipeline on %v: %w", cfg.Backend, err)
	}
	return p.tally, p.activity, nil
}

// run runs all tasks to their end and closes the scheduler.
func (p *pipeline) run(bind bool) (err error) {
	defer func() { err = errors.Join(err, p.sched.Close(), p.cause()) }()
	if bind {
		if err := p.sched.Bind(); err != nil {
			return err
		}
	}
	tasks := []func(){p.clockTask, p.stage(p.countTask)}
	for _, l := range p.lanes {
		tasks = append(tasks, p.stage(func() { p.splitTask(l) }), p.stage(func() { p.readTask(l) }))
	}
	p.activity.tasks = len(tasks)
	for _, f := range tasks {
		if err := p.sched.Enqueue(sched.Task{Func: f}); err != nil {
			p.stop(err)
			break
		}
	}
	if bind {
		return sched.Unbind()
	}
	return nil
}

// stage makes a task wait at the gate before it begins.
func (p *pipeline) stage(work func()) func() {
	return func() {
		f := sched.Current()
		p.mu.Lock()
		p.assembled = append(p.assembled, f)
		p.wakeClock()
		f.Wait(&p.mu, func() bool { return p.begun })
		p.mu.Unlock()
		work()
	}
}

// clockTask opens the gate once all stages stand there, so that all of them are seen blocked at once.
// Then it keeps the number of bytes read up to date, and stops the work if ctx ends.
func (p *pipeline) clockTask() {
	f := sched.Current()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clock = f
	f.Wait(&p.mu, func() bool { return p.begun || len(p.assembled) == p.activity.tasks-1 })
	p.activity.blocked = p.sched.Stats().Blocked
	p.openGate()
	for !f.WaitFor(&p.mu, tick, func() bool { return p.finished || p.err != nil }) {
		p.flush()
		if err := p.ctx.Err(); err != nil {
			p.halt(err)
		}
	}
	p.flush()
}

// openGate lets the stages begin. p.mu must be held.
func (p *pipeline) openGate() {
	p.begun = true
	for _, f := range p.assembled {
		f.Notify()
	}
}

// wakeClock lets the clock task look, if it has begun. p.mu must be held.
func (p *pipeline) wakeClock() {
	if p.clock != nil {
		p.clock.Notify()
	}
}

// flush adds up what the lanes have read.
func (p *pipeline) flush() {
	sum := int64(0)
	for _, l := range p.lanes {
		sum += l.bytes.Load()
	}
	p.done.Store(sum)
}

// stop ends the work early because of err: every task returns as soon as it notices.
func (p *pipeline) stop(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.halt(err)
}

// halt is stop for who holds p.mu.
func (p *pipeline) halt(err error) {
	if p.err == nil {
		p.err = err
	}
	p.openGate()
	p.wakeClock()
	p.batches.end(true)
	for _, l := range p.lanes {
		l.chunks.end(true)
	}
}

// cause is why the work was stopped early, or nil.
func (p *pipeline) cause() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
