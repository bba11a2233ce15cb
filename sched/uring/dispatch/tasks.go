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

// taskQueue holds top-level tasks that have not begun, in the order of their submission. It has room for some. Any
// thread may put tasks into it; the thread of the engine takes them, a round at a time.
type taskQueue struct {
	room *admission.Room

	mu     sync.Mutex // held for moments, and no fiber parks while it is
	tasks  queue.Queue[task]
	length atomic.Int64

	open atomic.Bool // rounds may begin

	_       [2]cpu.CacheLinePad // submitters write what is above, the engine's thread what follows
	present queue.Queue[task]   // of the present round, that have not begun; for the thread of the engine
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

// atOnce stands for a context whose waits end before they begin.
var atOnce context.Context

// put queues a task. If the queue is full, it blocks its caller until there is room, a fiber not its thread; callers
// get room in the order in which they came. If ctx is done before, it returns context.Cause(ctx). With atOnce it
// returns ErrFull at once instead.
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

// empty reports whether no task is queued, and no caller waits for room or is about to queue a task.
func (q *taskQueue) empty() bool { return q.len() == 0 && q.room.Empty() }

// len is how many tasks there are.
func (q *taskQueue) len() int { return int(q.length.Load()) }

// ready reports whether a round can begin: there are tasks, and all tasks of the round before have begun. For the
// thread of the engine.
func (q *taskQueue) ready() bool { return q.present.Empty() && q.open.Load() && q.len() > 0 }

// round makes the tasks that are queued now the present round, if it can begin, and calls begin once for each, which
// has next called later. Tasks that are submitted from then on are for the next round: so input and output have their
// turn, however many tasks there are. For the thread of the engine.
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

// TopLevel is a task as a program submits it. It returns nothing: it passes its results on itself. It may
// wait, and is suspended then. If it calls Goexit, the program ends, as any task's Goexit ends it.
type TopLevel struct {
	Run       func()
	BeforeEnd func() // runs when Run has returned, panicked or called Goexit, on the same fiber; may be nil
}

// run calls the functions of t. It reports a panic of either, and in each case counts the task as ended last, once.
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

// toStderr reports a panic where the program has not said how.
func toStderr(value any, stack []byte) {
	fmt.Fprintf(os.Stderr, "sched/uring: a task has panicked: %v\n\n%s", value, stack)
}
