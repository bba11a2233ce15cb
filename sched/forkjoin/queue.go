package forkjoin

import (
	"sync/atomic"

	"fiberlab/internal/spinlock"
)

// job is a task on its way from the caller that has submitted it to the strand that runs it. It is part of its future,
// as the list element in the document on the thread pool is (docs/documents.md, 001),
// so that a queue allocates nothing.
type job struct {
	previous, next *job
	in             *jobList // nil: none

	body    body // the future that the job is part of
	inside  bool // it runs even if the pool is closed: Close waits for the call or task that submitted it
	private bool // only the strand that has forked it will ask for it
}

// body is what a job leads to.
type body interface {
	// claim gives the caller alone the right to run the task or drop it. It returns false if another has been quicker.
	claim() bool
	// started reports whether it has been claimed.
	started() bool
	// run runs the task, which the caller has claimed, on s.
	run(s *strand)
	// drop settles the future without a result. The caller has claimed the task.
	drop(reason error)
}

// jobList is an intrusive list: a job can be removed from anywhere in it in constant time. The zero value is empty. It
// has no lock, but its length may be read by a caller that does not hold the lock under which it is used.
type jobList struct {
	first, last *job
	length      atomic.Int64
}

// push appends j, which is in no list.
func (l *jobList) push(j *job) {
	j.in, j.previous, j.next = l, l.last, nil
	if l.last != nil {
		l.last.next = j
	} else {
		l.first = j
	}
	l.last = j
	l.length.Add(1) // a full fence, as in deque.pop: the caller loads shared.wanting next
}

// remove takes j out, and reports whether it was in this list.
func (l *jobList) remove(j *job) bool {
	if j.in != l {
		return false
	}
	if j.previous != nil {
		j.previous.next = j.next
	} else {
		l.first = j.next
	}
	if j.next != nil {
		j.next.previous = j.previous
	} else {
		l.last = j.previous
	}
	j.in, j.previous, j.next = nil, nil, nil
	l.length.Add(-1)
	return true
}

// jobQueue is a jobList under a lock, for forms in which few jobs pass through it. The zero value is empty.
type jobQueue struct {
	mu   spinlock.Lock
	list jobList
}

// push appends j, which is in no list.
func (q *jobQueue) push(j *job) {
	q.mu.Lock()
	q.list.push(j)
	q.mu.Unlock()
}

// remove takes j out, if it is there.
func (q *jobQueue) remove(j *job) {
	q.mu.Lock()
	q.list.remove(j)
	q.mu.Unlock()
}

// empty reports whether there is nothing in it just now. It takes no lock.
func (q *jobQueue) empty() bool { return q.list.length.Load() == 0 }

// next takes out the oldest job that can be claimed, and claims it. It returns nil if there is none.
func (q *jobQueue) next() *job {
	for !q.empty() {
		q.mu.Lock()
		j := q.list.first
		if j != nil {
			q.list.remove(j)
		}
		q.mu.Unlock()
		if j != nil && j.body.claim() {
			return j
		}
	}
	return nil
}
