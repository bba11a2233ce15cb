package dispatch

import (
	"container/list"
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"fiberlab/internal/queue"
	"fiberlab/sched/park"
	"fiberlab/sched/uring"
)

// taskQueue holds top-level tasks that have not begun, in the order of their submission. It has a limit. Any thread may
// put tasks into it; the thread of the engine takes them, a round at a time.
type taskQueue struct {
	mu      sync.Mutex // held for moments, and no fiber parks meanwhile
	tasks   queue.Queue[func()]
	waiting list.List // of *submitter
	limit   int
	length  atomic.Int64

	open    atomic.Bool // rounds may begin
	unbegun int         // tasks of the present round that have not begun; for the thread of the engine
}

// submitter waits for room.
type submitter struct {
	task   func()
	parker park.Parker
	queued atomic.Uint64 // 1: its task is; changed under the queue's lock
}

func newTaskQueue(limit int) *taskQueue { return &taskQueue{limit: limit} }

// atOnce stands for a context whose waits end before they begin.
var atOnce context.Context

// put queues a task. If the queue is full, it blocks its caller until there is room, a fiber not its thread; callers
// get room in the order in which they came. If ctx is done before, it returns context.Cause(ctx). With atOnce it
// returns ErrFull at once instead.
func (q *taskQueue) put(ctx context.Context, task func()) error {
	q.mu.Lock()
	if q.tasks.Len() < q.limit {
		q.tasks.Push(task)
		q.length.Add(1)
		q.mu.Unlock()
		return nil
	}
	if ctx == atOnce {
		q.mu.Unlock()
		return ErrFull
	}
	s := &submitter{task: task, parker: park.Current()}
	if s.parker == nil {
		s.parker = park.NewGoroutine()
	}
	place := q.waiting.PushBack(s)
	q.mu.Unlock()
	var err error
	uring.Unseen(func() { err = park.Until{Context: ctx}.Await(s.parker, &s.queued, nil) })
	if err == nil {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if s.queued.Load() != 0 { // just before
		return nil
	}
	q.waiting.Remove(place)
	return err
}

// take takes the task that has waited longest; there must be one. The task of the first caller that waits gets its
// place.
func (q *taskQueue) take() func() {
	q.mu.Lock()
	defer q.mu.Unlock()
	task := q.tasks.Pop()
	first := q.waiting.Front()
	if first == nil {
		q.length.Add(-1)
		return task
	}
	s := q.waiting.Remove(first).(*submitter)
	q.tasks.Push(s.task)
	s.queued.Store(1)
	s.parker.Unpark()
	return task
}

// len is how many tasks there are.
func (q *taskQueue) len() int { return int(q.length.Load()) }

// ready reports whether a round can begin: there are tasks, and all tasks of the round before have begun. For the
// thread of the engine.
func (q *taskQueue) ready() bool { return q.unbegun == 0 && q.open.Load() && q.len() > 0 }

// round hands the tasks that are queued now to begin, if a round can begin. Tasks that are submitted from then on are
// for the next round: so input and output have their turn, however many tasks there are. Each task must call begun
// first. For the thread of the engine.
func (q *taskQueue) round(begin func(task func())) {
	if !q.ready() {
		return
	}
	q.unbegun = q.len()
	for range q.unbegun {
		begin(q.take())
	}
}

// begun counts a task of the round that has begun.
func (q *taskQueue) begun() { q.unbegun-- }

// TopLevel is a task as a program submits it. It returns nothing: it passes its results on itself. It may
// wait, and is suspended then. If it calls Goexit, the program ends, as any task's Goexit ends it.
type TopLevel struct {
	Run       func()
	BeforeEnd func() // runs when Run has returned, panicked or called Goexit, on the same fiber; may be nil
}

// wrap returns what a fiber runs for t. It reports a panic of either function, and in each case calls ended last, once.
// Nothing refers to t afterwards.
func (t TopLevel) wrap(panicked func(value any, stack []byte), ended func()) func() {
	return func() {
		defer ended()
		if t.BeforeEnd != nil {
			defer report(panicked, t.BeforeEnd)
		}
		report(panicked, t.Run)
	}
}

// report calls f, and tells panicked of its panic.
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
