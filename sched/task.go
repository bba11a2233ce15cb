package sched

import (
	"context"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"fiberlab/internal/queue"
	"fiberlab/sched/park"
)

// Flags say how a task is run.
type Flags uint8

// SameThread keeps a task on the worker that the caller runs on, or that EnqueueOn names. No other worker begins it.
const SameThread Flags = 1 << 0

// GroupLocal keeps a task, and the fiber that it runs on, in its scheduling group: other groups do not steal it. See
// Groups.
const GroupLocal Flags = 1 << 1

// Flags of queue entries that a Task cannot have. See runnable.
const (
	isNamed Flags = 1 << 6 // it is a named task; see namedTask
	isFiber Flags = 1 << 7
)

// Task is a function that a worker will call once, on one of its fibers. It begins without labels of the profiler
// (package pprof) and without debug.SetPanicOnFault, and leaves neither to others.
type Task struct {
	Func  func()
	Flags Flags
	Name  string // for deadlock reports, traces and their TaskTimes; may be empty
}

// Enqueue queues a task. A SameThread task goes to the worker that the caller runs on. Any other goes where the policy
// puts it or, if the scheduler has no multi-threaded workers, to the caller's worker, a bound goroutine. A blocking
// call counts as inside of the task that has made it, and the task's worker as the caller's worker. But a blocking call
// cannot enqueue a SameThread task.
//
// Enqueue may be called from anywhere, inside and outside of tasks. It blocks the caller only if Config.MaxQueued tasks
// wait to begin, until there is room; the thread of a task is not blocked. Callers get room in the order in which they
// came. If there is none after Config.OverloadAfter, the caller gets an error that wraps ErrOverload, and the task
// never runs. A fiber that must not block gets ErrInWait if there is no room. The other errors are ErrNilTask,
// ErrNoWorkers, ErrClosed, and ErrNotBound: for a SameThread task from outside, or if New has not made s. When Close
// refuses callers from outside, those that wait for room get ErrClosed. Tasks of a scheduler that is closing may still
// enqueue more.
func (s *Scheduler) Enqueue(t Task) error {
	return s.enqueue(context.Background(), &t, Current(), target{})
}

// EnqueueContext is Enqueue that also gives up when ctx is done before there is room for the task. The error then wraps
// context.Cause(ctx). If there is room, it queues the task even if ctx is done. It returns ErrNilContext if ctx is nil.
func (s *Scheduler) EnqueueContext(ctx context.Context, t Task) error {
	return s.enqueue(ctx, &t, Current(), target{})
}

// TryEnqueue is Enqueue that does not wait for room: it returns ErrFull if Config.MaxQueued tasks wait to begin, or if
// callers wait for room.
func (s *Scheduler) TryEnqueue(t Task) error { return s.enqueue(noWait, &t, Current(), target{}) }

// EnqueueOn queues a task on the multi-threaded worker of that number; no other worker begins it. So tasks that will
// wait for most of their time can be spread over the workers: under every policy, such a task remains on that worker.
// See Enqueue for the rest. The error is ErrNoSuchWorker if no worker has that number.
func (s *Scheduler) EnqueueOn(worker int, t Task) error {
	return s.enqueue(context.Background(), &t, Current(), target{onWorker, worker})
}

// TryEnqueueOn is EnqueueOn that does not wait for room, as TryEnqueue does not.
func (s *Scheduler) TryEnqueueOn(worker int, t Task) error {
	return s.enqueue(noWait, &t, Current(), target{onWorker, worker})
}

// EnqueueInGroup queues a task in the scheduling group of that number. A worker of the group begins it, or a worker of
// another group that steals it; GroupLocal forbids that. See Enqueue for the rest, and for room. The error is
// ErrNoSuchGroup if there is no group of that number, and ErrSameThread for a SameThread task.
func (s *Scheduler) EnqueueInGroup(group int, t Task) error {
	return s.enqueue(context.Background(), &t, Current(), target{inGroup, group})
}

// TryEnqueueInGroup is EnqueueInGroup that does not wait for room, as TryEnqueue does not.
func (s *Scheduler) TryEnqueueInGroup(group int, t Task) error {
	return s.enqueue(noWait, &t, Current(), target{inGroup, group})
}

// Go is Enqueue of f, without flags.
func (s *Scheduler) Go(f func()) error { return s.Enqueue(Task{Func: f}) }

// Schedule queues f, as a task with these flags, on the scheduler that Get returns; see [Scheduler.Enqueue]. It returns
// ErrNotBound if Get returns nil.
func Schedule(f func(), flags ...Flags) error {
	t := Task{Func: f}
	for _, flag := range flags {
		t.Flags |= flag
	}
	from := Current()
	return boundTo(from).enqueue(context.Background(), &t, from, target{})
}

// target is where a task is queued.
type target struct {
	kind   targetKind
	number int // of the worker or the scheduling group
}

type targetKind uint8

const (
	anywhere targetKind = iota
	onWorker            // no other worker begins it
	inGroup
)

// enqueue does the work of all functions above. from is the fiber that the caller runs on, or nil. If there is no room,
// the caller waits as admit says.
func (s *Scheduler) enqueue(ctx context.Context, t *Task, from *Fiber, to target) error {
	if !s.exists() {
		return fmt.Errorf("sched: enqueue: %w", ErrNotBound)
	}
	caller := s.workerOf(from)
	inside := caller // the worker in whose task the caller is; nil: it is in none
	if inside == nil {
		inside = s.insideOf(from)
	}
	pinned := to.kind != onWorker && t.Flags&SameThread != 0
	switch {
	case to.kind == onWorker && uint(to.number) >= uint(len(s.workers)):
		return s.refuse(to, ErrNoSuchWorker)
	case to.kind == inGroup && uint(to.number) >= uint(s.Groups()):
		return s.refuse(to, ErrNoSuchGroup)
	case t.Func == nil:
		return s.refuse(to, ErrNilTask)
	case ctx == nil:
		return s.refuse(to, ErrNilContext)
	case pinned && to.kind == inGroup:
		return s.refuse(to, ErrSameThread)
	case pinned && caller == nil:
		return s.refuse(to, ErrNotBound)
	case s.closed.Load() || inside == nil && s.closing.Load():
		return s.refuse(to, ErrClosed)
	case inside == nil && len(s.workers) == 0:
		return s.refuse(to, ErrNoWorkers)
	}
	j := newEntry(t)
	if s.room != nil {
		if err := s.admit(ctx, inside != nil); err != nil {
			return s.refuse(to, err)
		}
		caller = s.workerOf(from) // the fiber may have migrated
	}
	if to.kind == onWorker {
		j.flags |= SameThread
	}
	for !s.queue(j, to, pinned, caller, inside) {
		if inside == nil || len(s.workers) == 0 || s.closed.Load() {
			if s.room != nil {
				s.room.Give()
			}
			return s.refuse(to, ErrClosed)
		}
		runtime.Gosched() // Close makes sure that nothing is left, and opens the queues again for this task
	}
	return nil
}

// queue queues a task at that target. A pinned task goes to caller. Without multi-threaded workers, each task goes to
// inside. See enqueue for the two. It returns false if the queue is closed. Any thread may call it.
func (s *Scheduler) queue(j runnable, to target, pinned bool, caller, inside *Worker) bool {
	switch {
	case to.kind == onWorker:
		return s.workers[to.number].keep(j, caller)
	case pinned:
		return caller.keep(j, caller)
	case len(s.workers) == 0:
		return inside.keep(j, caller)
	case to.kind == inGroup:
		if p, ok := s.policy.(*groups); ok {
			return p.submitTo(to.number, j, caller)
		}
	}
	return s.policy.submit(j, caller)
}

// refuse returns an error that wraps err and says which call has failed.
func (s *Scheduler) refuse(to target, err error) error {
	switch to.kind {
	case onWorker:
		return fmt.Errorf("sched: enqueue on worker %d of %s, which has %d: %w", to.number, s.cfg.Name, s.Workers(), err)
	case inGroup:
		return fmt.Errorf("sched: enqueue in group %d of %s, which has %d: %w", to.number, s.cfg.Name, s.Groups(), err)
	}
	return fmt.Errorf("sched: enqueue on %s: %w", s.cfg.Name, err)
}

// keep queues a task that only w may begin. caller is the worker that the caller runs on, or nil. keep returns false if
// that is not w and the mailbox of w is closed. Any thread may call it.
func (w *Worker) keep(t runnable, caller *Worker) bool {
	if caller == w {
		w.pushTask(t)
		return true
	}
	w.mailed.Add(1)
	if !w.mailbox.Put(&queue.Message[runnable]{Value: t}, false) {
		w.mailed.Add(-1)
		return false
	}
	w.word.Notify()
	return true
}

// Contexts of callers that do not wait for room. With noWait they get ErrFull; with noRoom their tasks are queued
// nevertheless.
var noWait, noRoom context.Context = &withoutWait{}, &withoutWait{}

type withoutWait struct{ context.Context }

// admit takes a place in s.room until the task begins. If none is free, the caller waits until ctx is done or
// Config.OverloadAfter has passed, or as noWait and noRoom say. Close refuses no caller that is inside of a task.
func (s *Scheduler) admit(ctx context.Context, inside bool) error {
	if ctx == noRoom {
		s.room.Exceed()
		return nil
	}
	err := s.room.TryTake(inside)
	if err != ErrFull || ctx == noWait {
		return err
	}
	began, until := time.Now(), park.Until{Context: ctx}
	if limit := s.cfg.OverloadAfter; limit > 0 {
		until.Deadline = began.Add(limit)
	}
	err = s.room.Take(inside, until, roomOf(s.cfg.MaxQueued))
	if err == park.ErrDeadline {
		err = fmt.Errorf("waited %v for room, and %d still wait to begin (Config.MaxQueued): %w",
			time.Since(began).Round(time.Microsecond), s.cfg.MaxQueued, ErrOverload)
	}
	return err
}

// roomOf says in reports that a caller waits for room for its task. Its value is Config.MaxQueued.
type roomOf int

// Awaited implements park.Awaited.
func (places roomOf) Awaited() (string, uintptr) {
	return fmt.Sprintf("room for a task: %d wait to begin (Config.MaxQueued)", int(places)), 0
}

// runnable is an entry of a queue: a fiber that is ready, or a task to begin. If many wait, their memory costs more
// than all else. So one pointer serves for both, and isFiber says which it is: a function is a pointer, too.
type runnable struct {
	what  unsafe.Pointer
	flags Flags
}

// ofFiber returns the entry of a fiber that is ready.
func ofFiber(f *Fiber) runnable { return runnable{unsafe.Pointer(f), isFiber} }

// ofTask returns the entry of a task that calls that function.
func ofTask(call func(), flags Flags) runnable {
	return runnable{*(*unsafe.Pointer)(unsafe.Pointer(&call)), flags}
}

// fiber returns the fiber, or nil for a task.
func (r runnable) fiber() *Fiber {
	if r.flags&isFiber == 0 {
		return nil
	}
	return (*Fiber)(r.what)
}

// namedTask is what the entry of a task that has a name points to.
type namedTask struct {
	call func()
	name string
}

// function returns what a task calls, and its name or nil; r must be a task. It may be called once.
func (r runnable) function() (call func(), name *string) {
	if r.flags&isNamed != 0 {
		t := (*namedTask)(r.what)
		call, t.call = t.call, nil // what the function refers to need not live as long as the name
		return call, &t.name
	}
	return *(*func())(unsafe.Pointer(&r.what)), nil
}

// groupLocal reports whether other scheduling groups must not steal r. It must be called while no worker can run r.
func (r runnable) groupLocal() bool {
	if f := r.fiber(); f != nil {
		return f.groupLocal
	}
	return r.flags&GroupLocal != 0
}

// newEntry returns the entry of a task.
func newEntry(t *Task) runnable {
	flags := t.Flags & (SameThread | GroupLocal)
	if t.Name != "" { // t itself stays on the caller's stack
		return runnable{unsafe.Pointer(&namedTask{t.Func, t.Name}), flags | isNamed}
	}
	return ofTask(t.Func, flags)
}

// Groups returns how many scheduling groups there are. Under policies other than [Group] all multi-threaded workers are
// one group; without such workers there is none.
func (s *Scheduler) Groups() int {
	if !s.exists() {
		return 0
	}
	if p, ok := s.policy.(*groups); ok {
		return len(p.all)
	}
	return min(len(s.workers), 1)
}
