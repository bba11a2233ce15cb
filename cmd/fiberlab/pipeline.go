package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"fiberlab/sched"
	"fiberlab/sched/mixed"
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
// are bounded channels. There are more tasks than workers, whatever the number of workers, and most
// of them are blocked at any time: a stage that is ahead waits for room, one that is behind for work.
//
// The work ends from left to right: each read task closes its chunks, and when all lanes have ended the
// batches are closed. That is so, too, if a context ends the lanes early.
type pipeline struct {
	files []textFile
	open  opener
	done  *atomic.Int64
	sched *sched.Scheduler

	lanes    []*lane
	nextFile atomic.Int64
	gate     *mixed.Latch // opens when all are blocked who can be
	batches  *mixed.Channel[batch]
	counted  mixed.Event // the count task has ended

	mu       sync.Mutex
	tally    *tally   // the count task's; its failures are guarded by mu
	activity activity // the count task's, once the tasks run
}

// activity is what the scheduler was given to do.
type activity struct {
	tasks   int // of all kinds
	blocked int // tasks that were blocked at once, when the count task opened the gate
}

// lane is what one read and one split task share.
type lane struct {
	chunks *mixed.Channel[chunk]
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
	p := &pipeline{files: files, open: open, done: done, sched: s,
		gate: mixed.NewLatch(1), batches: mixed.NewChannel[batch](batchesHeld), tally: newTally(len(files))}
	for range max(cfg.Workers, fewestLanes) {
		p.lanes = append(p.lanes, &lane{chunks: mixed.NewChannel[chunk](chunksAhead)})
	}
	p.activity.tasks = 2 + 2*len(p.lanes)
	if err := p.run(ctx, cfg.Workers == 0); err != nil {
		return nil, activity{}, fmt.Errorf("pipeline on %v: %w", cfg.Backend, err)
	}
	return p.tally, p.activity, nil
}

// run runs all tasks to their end and closes the scheduler.
func (p *pipeline) run(ctx context.Context, bind bool) error {
	if bind {
		if err := p.sched.Bind(); err != nil {
			return errors.Join(err, p.sched.Close())
		}
	}
	var early error
	err := p.sched.Enqueue(sched.Task{Func: func() { early = p.work(ctx) }})
	if bind {
		err = errors.Join(err, sched.Unbind())
	}
	err = errors.Join(err, p.sched.Close())
	return errors.Join(err, early)
}

// work is the first task. It starts the others, is one of them itself, and returns when all have ended: with
// ctx's error if that has ended the lanes early.
func (p *pipeline) work(ctx context.Context) (early error) {
	mixed.Parallelize(
		func() { early = p.runLanes(ctx) },
		func() { p.countTask(ctx) },
		p.clockTask,
	)
	return early
}

// runLanes runs all lanes, again as one of their tasks, and closes the batches when they have ended. It returns
// ctx's error if they have ended early.
func (p *pipeline) runLanes(ctx context.Context) error {
	defer p.batches.Close()
	var stages []func(context.Context) error
	for _, l := range p.lanes {
		stages = append(stages,
			func(ctx context.Context) error { return p.readTask(ctx, l) },
			func(ctx context.Context) error { return p.splitTask(ctx, l) })
	}
	return mixed.ParallelizeContext(ctx, stages...)
}

// clockTask keeps the number of bytes read up to date.
func (p *pipeline) clockTask() {
	for !p.counted.WaitFor(tick) {
		p.flush()
	}
	p.flush()
}

// flush adds up what the lanes have read.
func (p *pipeline) flush() {
	sum := int64(0)
	for _, l := range p.lanes {
		sum += l.bytes.Load()
	}
	p.done.Store(sum)
}
