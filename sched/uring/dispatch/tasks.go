package dispatch

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"fiberlab/internal/admission"
	"fiberlab/internal/queue"
	"fiberlab/sched/park"
	"fiberlab/sched/uring"

	"golang.org/x/sys/cpu"
)

// taskQueue holds top-level tasks that have not begun, in the order of their submission. At most limit tasks wait for a
// round, see newTaskQueue. Any thread may put tasks into it; only the engine's thread takes them, a round at a time.
type taskQueue struct {
	room *admission.Room

	mu     sync.Mutex // held for moments; no fiber parks while it holds mu
	tasks  queue.Queue[task]
	length atomic.Int64

	open atomic.Bool // rounds may begin

	_       [2]cpu.CacheLinePad // submitters write what is above, the engine's thread what follows
	present queue.Queue[task]   // tasks of the round that have not begun; for the engine's thread
	begun   atomic.Uint64       // how many tasks rounds have taken out: their places are free
}

// task is a TopLevel in a queue.
type task struct {
	TopLevel
	of *Scheduler // nil: it was submitted to a context
}

func newTaskQueue(limit int) *taskQueue {
	q := &taskQueue{room: admission.New(limit, 1, ErrFull, nil)}
	q.room.AddCount(&q.begun)
	return q
}

// atOnce, which is nil, stands for a context: with it, put returns ErrFull instead of waiting.
var atOnce context.Context

// put queues a task. If the queue is full, or other callers wait for room, put waits for room, in the order of arrival.
// The wait blocks a fiber, not its thread. If ctx is done first, put returns context.Cause(ctx). If ctx is atOnce, put
// returns ErrFull instead of waiting. Any thread may call put.
func (q *taskQueue) put(ctx context.Context, t task) error {
	err := q.room.TryTake(true)
	if err != nil && ctx != atOnce {
		uring.Unseen(func() { err = q.room.Take(true, park.Until{Context: ctx}, nil) })
	}
	if err != nil {
		return err
	}
	q.mu.Lock()
	q.tasks.Push(t)
	q.length.Store(int64(q.tasks.Len()))
	q.mu.Unlock()
	return nil
}

// empty reports whether no task waits for a round, and no caller waits for room or is about to queue a task.
func (q *taskQueue) empty() bool { return q.len() == 0 && q.room.Empty() }

// len returns how many tasks wait for a round. Any thread may call it.
func (q *taskQueue) len() int { return int(q.length.Load()) }

// ready reports whether a round can begin: open is set, tasks wait for a round, and all tasks of the last round have
// begun. Only the engine's thread may call it.
func (q *taskQueue) ready() bool { return q.present.Empty() && q.open.Load() && q.len() > 0 }

// round begins a round if ready returns true: all queued tasks become the present round. For each of them it calls
// begin, which must cause one call of next, later. Tasks that are submitted from now on wait for the next round: so
// input and output have their turn, however many tasks there are. Only the engine's thread may call it.
func (q *taskQueue) round(begin func()) {
	if !q.ready() {
		return
	}
	q.mu.Lock()
	n := q.tasks.Len()
	q.tasks.Swap(&q.present)
	q.length.Store(0)
	q.mu.Unlock()
	q.begun.Add(uint64(n))
	q.room.Look()
	for range n {
		begin()
	}
}

// next takes the task of the present round that has waited longest. For the thread of the engine.
func (q *taskQueue) next() task { return q.present.Pop() }

// TopLevel is a task as a program submits it. Run returns no value, so it must store or send its results. When the task
// waits, it is suspended. If it calls runtime.Goexit, the program ends, as it does for any task.
type TopLevel struct {
	Run       func()
	BeforeEnd func() // runs when Run has returned, panicked or called Goexit, on the same fiber; may be nil
}

// run calls Run, then BeforeEnd, and reports their panics. Last, in any case, it counts t as ended, if t.of is not nil.
func (t task) run(panicked func(value any, stack []byte)) {
	if t.of != nil {
		defer t.of.taskEnded()
	}
	if t.BeforeEnd != nil {
		defer report(panicked, t.BeforeEnd)
	}
	report(panicked, t.Run)
}

// report calls f, and hands its panic to panicked.
func report(panicked func(value any, stack []byte), f func()) {
	defer func() {
		if value := recover(); value != nil {
			panicked(value, debug.Stack())
		}
	}()
	f()
}

// toStderr writes a task's panic to stderr. A context calls it if its Options.Panicked is nil.
func toStderr(value any, stack []byte) {
	fmt.Fprintf(os.Stderr, "sched/uring: a task has panicked: %v\n\n%s", value, stack)
}
