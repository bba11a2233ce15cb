package sched

import "sync"

// Flags say how a task is to be run.
type Flags uint8

// SameThread keeps a task on the worker that the caller runs on, or that EnqueueOn
// names: it is never given to another one nor stolen.
const SameThread Flags = 1 << 0

// GroupLocal keeps a task, and the fiber that it runs on, in its scheduling group: other groups do not steal it. See Groups.
const GroupLocal Flags = 1 << 1

// Helper marks a task that does what tasks wait for that have begun. It is not dropped; see DropQueued.
const Helper Flags = 1 << 6

// hasRoom is a flag of jobs alone: the task has a place in its scheduler's room, until it begins.
const hasRoom Flags = 1 << 7

// Task is a function that a worker will call once, on one of its fibers. It begins without
// labels of the profiler (package pprof) and without debug.SetPanicOnFault, and leaves neither to others.
type Task struct {
	Func  func()
	Flags Flags
	Name  string // for deadlock reports, traces and TaskTimes, which are made for few names; may be empty
}

// job is a Task on its way to a fiber. It is half as large as a Task: all queues are made of jobs.
type job struct {
	Func  func()
	Flags Flags
	name  nameNumber
}

// runnable is what a worker runs next: a fiber that goes on, or a task to begin.
type runnable struct {
	fiber *Fiber // nil: the task
	task  job
}

// groupLocal tells whether other scheduling groups must leave it where it is.
func (r runnable) groupLocal() bool {
	if r.fiber != nil {
		return r.fiber.groupLocal
	}
	return r.task.Flags&GroupLocal != 0
}

// nameNumber stands for the name of a task; 0 for none.
type nameNumber uint32

// mostNames is how many names of tasks a scheduler distinguishes. Further ones are none.
const mostNames = 1024

// names are the names that a scheduler has met. The zero value has met none.
type names struct {
	mu      sync.Mutex // held for moments, and nothing is locked meanwhile
	numbers map[string]nameNumber
	list    []string // the first has number 1
}

// number returns that of the name, always the same one.
func (n *names) number(name string) nameNumber {
	n.mu.Lock()
	defer n.mu.Unlock()
	number, known := n.numbers[name]
	if !known && name != "" && len(n.list) < mostNames {
		if n.numbers == nil {
			n.numbers = make(map[string]nameNumber)
		}
		n.list = append(n.list, name)
		number = nameNumber(len(n.list))
		n.numbers[name] = number
	}
	return number
}

// of returns the name that has the number.
func (n *names) of(number nameNumber) string {
	if number == 0 {
		return ""
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.list[number-1]
}
