package sched

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// CloseContext is Close that gives up when ctx is done, with a *Remaining: it says what is left, and wraps
// context.Cause(ctx). All is then as it was before, as after a *Deadlock, which CloseContext returns too; only what DropQueued
// has dropped is gone. Close and CloseContext may be called again.
//
// Close and CloseContext may be called by many at a time. Each waits as long as its own context lets it, and while one of
// them waits, the scheduler is being closed. If it succeeds, or there is a deadlock, all get that result.
//
// Besides the errors of Close, it returns ErrNilContext if ctx is nil.
func (s *Scheduler) CloseContext(ctx context.Context, options ...CloseOption) error {
	if ctx == nil {
		return fmt.Errorf("sched: close %s: %w", s.cfg.Name, ErrNilContext)
	}
	if err := s.mayClose(); err != nil {
		return err
	}
	for _, o := range options {
		if o.drop {
			s.beginDropping()
			defer func() { s.endDropping(o.into) }()
		}
	}
	return s.close(ctx)
}

// CloseOption is what CloseContext does beside waiting. The zero value is nothing.
type CloseOption struct {
	drop bool
	into *[]Task
}

// DropQueued has CloseContext drop tasks instead of beginning them: queued tasks, and tasks that are
// enqueued while it waits. Tasks that have begun go on. A task is dropped when its turn comes: those that a worker alone may
// begin, not before that worker has time, and those of a goroutine that is bound, when it waits or unbinds.
//
// No task is lost silently: CloseContext appends the dropped tasks to the slice into, in the order in which they were
// dropped, also if it fails. If into is nil, they are only counted, in Stats.Dropped. If several calls drop at the same time,
// each task is in one of their slices. A fiber that waits for what a dropped task would have done waits on.
func DropQueued(into *[]Task) CloseOption { return CloseOption{drop: true, into: into} }

// drops are the tasks that are dropped while calls of CloseContext want that.
type drops struct {
	mu    sync.Mutex
	users int // calls
	tasks []Task
}

// beginDropping has workers drop tasks until endDropping has been called as often.
func (s *Scheduler) beginDropping() {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.drops.Load()
	if d == nil {
		d = new(drops)
		s.drops.Store(d)
	}
	d.mu.Lock()
	d.users++
	d.mu.Unlock()
}

// endDropping gives the caller the tasks that have been dropped and that no other call has got.
func (s *Scheduler) endDropping(into *[]Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.drops.Load()
	d.mu.Lock()
	defer d.mu.Unlock()
	if into != nil {
		*into = append(*into, d.tasks...)
		d.tasks = nil
	}
	if d.users--; d.users == 0 {
		s.drops.Store(nil)
	}
}

// drop drops t, which a worker is about to begin, if a call of CloseContext wants that. It tells whether it did.
func (d *drops) drop(s *Scheduler, t job) bool {
	task := Task{Func: t.Func, Flags: t.Flags &^ hasRoom, Name: s.names.of(t.name)}
	d.mu.Lock()
	wanted := d.users > 0 // otherwise the last call has returned in the meantime
	if wanted {
		d.tasks = append(d.tasks, task)
		s.dropped.Add(1)
	}
	d.mu.Unlock()
	if wanted {
		s.release(t)
	}
	return wanted
}

// Remaining is the error of a CloseContext whose context is done: what is left of the scheduler. It wraps
// context.Cause of that context. Other goroutines may have changed some of it since.
type Remaining struct {
	Scheduler string
	Cause     error     // context.Cause
	Queued    int       // tasks that have not begun
	Bound     int       // goroutines that have not been unbound
	Running   []Busy    // fibers that run a task, or are ready to go on
	Blocked   []Blocked // fibers that wait, with a deadline or without
}

// Busy is a fiber that is not blocked.
type Busy struct {
	Worker int    // its worker's number
	Fiber  int    // its own number on the worker that has made it
	Task   string // the name of its task, if that has one
	State  State  // Running or Queued
}

// String is one line: the fiber and its state.
func (r Busy) String() string {
	return Blocked{Worker: r.Worker, Fiber: r.Fiber, Task: r.Task, State: r.State}.String()
}

// Error is the text of the report. Like that of a Deadlock it has a limited number of lines; Running and Blocked have all.
func (r *Remaining) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sched: close %s: %v: left are %d tasks that have not begun, %d fibers that run, %d that are blocked, %d bound goroutines: call Close again",
		r.Scheduler, r.Cause, r.Queued, len(r.Running), len(r.Blocked), r.Bound)
	for _, f := range r.Running[:min(mostListed, len(r.Running))] {
		fmt.Fprintf(&b, "\n\t%v", f)
	}
	if more := len(r.Running) - mostListed; more > 0 {
		fmt.Fprintf(&b, "\n\tand %d more that run", more)
	}
	listBlocked(&b, r.Blocked)
	return b.String()
}

// Unwrap returns the cause.
func (r *Remaining) Unwrap() error { return r.Cause }

// remainingLimit is how long CloseContext waits until blocked fibers have said where they wait. Workers that have time answer
// within microseconds.
const remainingLimit = 50 * time.Millisecond

// remaining says what keeps the scheduler from ending.
func (s *Scheduler) remaining(ctx context.Context) *Remaining {
	stats := s.Stats()
	s.mu.Lock()
	r := &Remaining{Scheduler: s.cfg.Name, Cause: context.Cause(ctx), Queued: stats.Pending, Bound: len(s.bound)}
	s.mu.Unlock()
	told := make(map[[2]int]bool) // by worker and number
	if s.asking.TryLock() {
		r.Blocked = describe(s.answersOfSleepers())
		s.asking.Unlock()
	}
	for _, b := range r.Blocked {
		told[[2]int{b.Worker, b.Fiber}] = true
	}
	for _, f := range s.fibers.all() {
		number, busy := f.taskName()
		state, name := f.State(), s.names.of(number)
		switch {
		case state == Idle, told[[2]int{f.maker.id, f.id}]:
		case state == Yielded, state == Waiting:
			r.Blocked = append(r.Blocked, Blocked{Worker: f.maker.id, Fiber: f.id, Task: name, State: state})
		case busy:
			r.Running = append(r.Running, Busy{Worker: f.maker.id, Fiber: f.id, Task: name, State: state})
		}
	}
	slices.SortFunc(r.Running, func(a, b Busy) int {
		return slices.Compare([]int{a.Worker, a.Fiber}, []int{b.Worker, b.Fiber})
	})
	slices.SortStableFunc(r.Blocked, func(a, b Blocked) int {
		return slices.Compare([]int{a.Worker, a.Fiber}, []int{b.Worker, b.Fiber})
	})
	return r
}

// answersOfSleepers has the workers that sleep list their blocked fibers. asking must be held.
func (s *Scheduler) answersOfSleepers() (answers []answer) {
	limit := time.After(remainingLimit)
	for _, w := range s.everyWorker() {
		if !w.driver.asleep() || !s.fibers.anyYielded(w) {
			continue
		}
		some, inTime := w.listBlocked(limit)
		answers = append(answers, some...)
		if !inTime {
			break
		}
	}
	return answers
}
