package wordcount

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

// A count has a lane for each worker and a count task for each worker, but not fewer than these.
const (
	FewestLanes      = 4
	FewestCountTasks = 2
)

const (
	chunkSize   = 64 << 10 // bytes that a read task asks for at a time
	chunksAhead = 4        // chunks between a read and a split task
	batchSize   = 32 << 10 // bytes of words that a split task sends at once
	batchesHeld = 8        // batches before each count task

	// tick is how often the clock task adds up the progress.
	tick = 20 * time.Millisecond
	// linger is how long a split task holds back words while no chunk comes.
	linger = 5 * time.Millisecond
)

// TaskNames lists the names of the tasks that Count starts, by which a trace.Recorder tells them apart.
func TaskNames() []string { return []string{"read", "split", "count", "clock"} }

// Options say how to count. The zero value counts on the calling goroutine.
type Options struct {
	// Scheduler describes the scheduler that Count makes. Without workers it runs all tasks on the caller.
	Scheduler sched.Config
	// Open opens the files; nil means os.Open. Several tasks call it at the same time, each on a fiber.
	Open Opener
	// Progress, if not nil, is set to the number of bytes read so far, again and again.
	Progress *atomic.Int64
}

// Result is what Count found, and what its scheduler did for it.
type Result struct {
	Tally
	Tasks   int         // all tasks, and the caller, which starts them
	Blocked int         // how many of these were blocked at once before the first file was opened
	Stats   sched.Stats // of the scheduler, when all tasks had ended
}

// Count counts the words of files by tasks of a scheduler, which it makes after o.Scheduler and closes
// again. It blocks until all files are counted, or until ctx is done; then the error is ctx's cause. A
// file that cannot be read to its end is no error: FileCount.Err names it. Other errors come from
// sched.Run: the caller must not be a task, nor have a scheduler bound.
//
// Nothing of the scheduler is left when Count returns, except after a deadlock; see sched.Run.
func Count(ctx context.Context, files []File, o Options) (*Result, error) {
	workers := max(o.Scheduler.Workers, 0)
	shards := max(workers, FewestCountTasks)
	p := &pipeline{
		open:     o.Open.orOS(),
		progress: o.Progress,
		gate:     fibersync.NewLatch(1),
		result:   Result{Tally: newTally(files, shards)},
	}
	for range max(workers, FewestLanes) {
		p.lanes = append(p.lanes, &lane{chunks: fibersync.NewChannel[chunk](chunksAhead)})
	}
	for range shards {
		p.batches = append(p.batches, fibersync.NewChannel[*batch](batchesHeld))
	}
	p.result.Tasks = 2*len(p.lanes) + shards + 2 // the clock and the caller

	ctx, p.cancel = context.WithCancelCause(ctx)
	defer p.cancel(nil)
	err := sched.Run(o.Scheduler, func() {
		p.scheduler = sched.Get()
		p.work(ctx, o.Scheduler)
		p.result.Stats = p.scheduler.Stats()
	})
	if err = errors.Join(err, context.Cause(ctx)); err != nil {
		return nil, fmt.Errorf("word count on %v under %v: %w", o.Scheduler.Backend, o.Scheduler.Policy, err)
	}
	return &p.result, nil
}

// pipeline is one count. The work ends from left to right: each read task closes its chunks, and when all
// lanes have ended, the batches are closed. This also holds if the lanes stop early.
type pipeline struct {
	open      Opener
	progress  *atomic.Int64
	scheduler *sched.Scheduler

	lanes    []*lane
	nextFile atomic.Int64                 // the first file that no lane has taken
	gate     *fibersync.Latch             // opens when all other tasks are blocked
	batches  []*fibersync.Channel[*batch] // one for each count task
	counted  fibersync.Event              // set when the count tasks have ended

	cancel context.CancelCauseFunc

	// Each file of the tally belongs to the lane that reads it, each shard to one count task, and Blocked
	// to the first of these.
	result Result
}

// lane is what one read task and one split task share.
type lane struct {
	chunks *fibersync.Channel[chunk]
	bytes  atomic.Int64 // read so far
}

// chunk is a piece of one file. The last chunk of a file is empty.
type chunk struct {
	file int
	data []byte
	last bool
}

// batch is some words of one shard.
type batch struct {
	text []byte   // the words, one after the other
	ends []uint32 // where each of them ends
}

// work starts all tasks and returns when they have ended.
func (p *pipeline) work(ctx context.Context, cfg sched.Config) {
	var lanes, counters, clock fibersync.WaitGroup
	start := func(name string, group *fibersync.WaitGroup, turn int, f func() error) {
		group.Add(1)
		err := p.enqueue(cfg, turn, sched.Task{Name: name, Func: func() {
			defer group.Done()
			err := fmt.Errorf("a %s task has panicked", name)
			defer func() { p.stop(err) }()
			err = f()
		}})
		if err != nil {
			p.stop(err)
			group.Done()
		}
	}
	for i, l := range p.lanes {
		start("read", &lanes, i, func() error { return p.readTask(ctx, l) })
		start("split", &lanes, i, func() error { return p.splitTask(ctx, l) })
	}
	for shard := range p.batches {
		start("count", &counters, shard, func() error { return p.countTask(ctx, shard) })
	}
	start("clock", &clock, len(p.batches), p.clockTask)

	lanes.Wait()
	for _, b := range p.batches {
		b.Close()
	}
	counters.Wait()
	p.counted.Signal()
	clock.Wait()
}

// enqueue deals the tasks out to the workers, one after the other, where a fiber stays with the worker that began its
// task. Otherwise the worker that wakes first might begin them all on a loaded machine. Other policies place tasks
// themselves.
func (p *pipeline) enqueue(cfg sched.Config, turn int, t sched.Task) error {
	if cfg.Policy == sched.Stealing && cfg.Workers > 0 {
		return p.scheduler.EnqueueOn(turn%cfg.Workers, t)
	}
	return p.scheduler.Enqueue(t)
}

// stop makes all tasks end early because one of them failed with err. A nil err stops nothing.
func (p *pipeline) stop(err error) {
	if err != nil {
		p.cancel(err)
	}
}
