package forkjoin

import "fiberlab/internal/spinlock"

// locked is the form of the document on the thread pool (docs/documents.md, 001): one list under one lock. A strand
// that changes the status of a job from NOT_STARTED holds the lock, and takes the job off the list under the same lock.
// So a queued job that is not private is in the list exactly while it is NOT_STARTED. A private job that its strand
// takes back stays NOT_STARTED.
//
// The lock is never held while a task runs: the task may submit others, and then needs the lock itself.
type locked struct {
	pool *shared

	mu   spinlock.Lock
	jobs jobList
}

func (l *locked) submit(_ *strand, j *job) {
	l.mu.Lock()
	l.jobs.push(j)
	l.mu.Unlock()
	l.pool.call()
}

func (l *locked) takeBack(_ *strand, j *job) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.jobs.remove(j) && (j.private || j.body.claim())
}

func (l *locked) next(*strand) *job {
	l.mu.Lock()
	defer l.mu.Unlock()
	j := l.jobs.first
	if j != nil {
		l.jobs.remove(j)
		j.body.claim()
	}
	return j
}

func (l *locked) submitted() bool { return l.jobs.length.Load() > 0 }
func (l *locked) waiting() bool   { return l.submitted() }
func (*locked) publish(*strand)   {}
