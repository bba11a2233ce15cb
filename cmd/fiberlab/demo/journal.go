package demo

import "sync"

// Entry is something that a task has done, and the thread on which it did.
type Entry struct {
	Thread int    `json:"thread"`
	Task   string `json:"task"`
	Does   string `json:"does"` // begins, ends, or waits for another one
	Other  string `json:"other,omitempty"`
}

// String is the entry in a few words.
func (e Entry) String() string {
	if e.Other == "" {
		return e.Task + " " + e.Does
	}
	return e.Task + " " + e.Does + " " + e.Other
}

// journal has what all tasks of a run have done, in order.
type journal struct {
	mu      sync.Mutex // held for moments only
	entries []Entry
	stacks  map[string]any // on which each task began
}

func newJournal() *journal { return &journal{stacks: make(map[string]any)} }

// add notes what the task does that the caller runs.
func (j *journal) add(x executor, task, does, other string) {
	thread, stack := x.place()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, Entry{thread, task, does, other})
	if does == "begins" {
		j.stacks[task] = stack
	}
}

// sharesStack reports whether the two tasks ran on one stack.
func (j *journal) sharesStack(task, other string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	stack, known := j.stacks[task]
	return known && stack == j.stacks[other]
}
