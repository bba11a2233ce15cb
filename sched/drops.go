package sched

import "sync"

// CloseOption is what CloseContext does beside waiting. The zero value is nothing.
type CloseOption struct {
	drop bool
	into *[]Task
}

// DropQueued has CloseContext drop tasks instead of beginning them: queued tasks, and tasks that are
// enqueued while it waits. Tasks that have begun go on, and tasks with the flag Helper begin, such as those of fibersync.Parallelize and of package forkjoin. A task is dropped when its turn comes: those that a worker alone may
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
