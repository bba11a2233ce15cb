package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

const (
	chunkSize    = 64 << 10 // bytes that a read task asks for at a time
	chunksAhead  = 4        // chunks between a read and a split task
	batchSize    = 32 << 10 // bytes of words that a split task hands on at once
	batchesHeld  = 8        // batches before each count task
	fewestLanes  = 4
	fewestCounts = 2

	// tick is how often the clock task looks.
	tick = 20 * time.Millisecond
	// linger is how long a split task holds back words while no chunk comes.
	linger = 5 * time.Millisecond
)

// pipeline counts words by tasks of one scheduler:
//
//	read -- chunks --> split --+           +-- batches --> count
//	read -- chunks --> split --+-- words --+-- batches --> count        clock
//	read -- chunks --> split --+           +-- batches --> count
//
// Each row on the left is a lane; a lane's read task takes the next file when it has read one. On the right each
// count task has a shard of the words: a split task sends each word to the one that counts it. All arrows
// are bounded channels. There are more tasks than workers, whatever the number of workers, and most
// of them are blocked at any time: a stage that is ahead waits for room, one that is behind for work.
//
// Lanes and count tasks are dealt out to the workers in turn. A fiber stays on the worker that has begun its task:
// were the tasks left to whichever worker is awake, on a loaded machine that would be one for all.
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
	gate     *fibersync.Latch             // opens when all are blocked who can be
	batches  []*fibersync.Channel[*batch] // for each count task
	counted  fibersync.Event              // the count tasks have ended

	mu       sync.Mutex
	early    error    // of the lanes that have ended early
	tally    *tally   // each word count is that of one count task, each file's that of one split task; mu guards the failures
	activity activity // the first count task's, once the tasks run
}

// activity is what the scheduler was given to do, and what it did.
type activity struct {
	tasks   int // of all kinds
	blocked int // tasks that were blocked at once, when the gate was opened
	workers int // multi-threaded ones
	stats   sched.Stats
}

// lane is what one read and one split task share.
type lane struct {
	chunks *fibersync.Channel[chunk]
	bytes  atomic.Int64 // read so far
}

// chunk is a piece of one file. The last one of a file is empty.
type chunk struct {
	file int
	data []byte
	last bool
}

// batch is some words of one shard.
type batch struct {
	text []byte   // the words, one behind the other
	ends []uint32 // where each of them ends
}

// countOnFibers counts the words of files by tasks of a scheduler that is made after cfg, and returns the
// count. Without workers of its own, the scheduler runs all tasks on the caller. It keeps done at the
// number of bytes read. Nothing of the scheduler is left when it returns, also when ctx ended the
// work early.
func countOnFibers(ctx context.Context, cfg sched.Config, files []textFile, open opener,
	done *atomic.Int64) (*tally, activity, error) {
	shards := max(cfg.Workers, fewestCounts)
	p := &pipeline{files: files, open: open, done: done, gate: fibersync.NewLatch(1), tally: newTally(len(files), shards)}
	for range max(cfg.Workers, fewestLanes) {
		p.lanes = append(p.lanes, &lane{chunks: fibersync.NewChannel[chunk](chunksAhead)})
	}
	for range shards {
		p.batches = append(p.batches, fibersync.NewChannel[*batch](batchesHeld))
	}
	p.activity.tasks = 2*len(p.lanes) + shards + 2 // with the clock and the one that begins the others
	p.activity.workers = cfg.Workers
	err := sched.Run(cfg, func() {
		p.sched = sched.Get()
		p.work(ctx, cfg.Workers)
		p.activity.stats = p.sched.Stats()
	})
	if err = errors.Join(err, p.early); err != nil {
		return nil, activity{}, fmt.Errorf("pipeline on %v: %w", cfg.Backend, err)
	}
	return p.tally, p.activity, nil
}

// work begins all tasks on so many workers, and returns when they have ended.
func (p *pipeline) work(ctx context.Context, workers int) {
	var lanes, counters, clock fibersync.WaitGroup
	begin := func(name string, group *fibersync.WaitGroup, turn int, f func()) {
		group.Add(1)
		t := sched.Task{Name: name, Func: func() {
			defer group.Done()
			f()
		}}
		var err error
		if workers == 0 {
			err = p.sched.Enqueue(t)
		} else {
			err = p.sched.EnqueueOn(turn%workers, t)
		}
		if err != nil {
			panic(err) // it is open and has that worker
		}
	}
	for i, l := range p.lanes {
		begin("read", &lanes, i, func() { p.endedEarly(p.readTask(ctx, l)) })
		begin("split", &lanes, i, func() { p.endedEarly(p.splitTask(ctx, l)) })
	}
	for i := range p.batches {
		begin("count", &counters, i, func() { p.countTask(ctx, i) })
	}
	begin("clock", &clock, len(p.batches), p.clockTask)

	lanes.Wait()
	for _, b := range p.batches {
		b.Close()
	}
	counters.Wait()
	p.counted.Signal()
	clock.Wait()
}

// endedEarly keeps the error of a lane, if it has one.
func (p *pipeline) endedEarly(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.early = cmp.Or(p.early, err)
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
