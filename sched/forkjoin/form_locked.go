package forkjoin

import "fiberlab/sched/fibersync"

// locked is the document's form: one lock, one list, and a condition that says that the list is not empty. A strand that changes the status of a
// job from NOT_STARTED holds the lock, and takes the job off the list under the same lock. So the status of a job is NOT_STARTED
// exactly as long as the job is in the list.
//
// The lock is never held while a task runs: the task may submit others, and then needs the lock itself.
type locked struct {
	pool *shared

	mu     fibersync.Mutex
	work   fibersync.Cond // the list is not empty, or the pool is closed
	jobs   jobList
	idle   int // drainers that wait for work and have not been signalled
	closed bool
}

func newLocked(p *shared) *locked {
	l := &locked{pool: p}
	l.work.L = &l.mu
	return l
}

func (l *locked) submit(_ *strand, j *job) {
	l.mu.Lock()
	l.jobs.push(j)
	if l.idle > 0 {
		l.idle--
		l.work.Signal()
	}
	l.mu.Unlock()
	l.pool.start() // too: the drainer that was signalled may be waiting for a worker that computes, while another has nothing to do
}

func (l *locked) hand(s *strand, j *job) { l.submit(s, j) }

func (l *locked) takeBack(_ *strand, j *job) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.jobs.remove(j) && (j.private || j.body.claim())
}

// mostIdle is how many drainers wait for work at most. Others end.
const mostIdle = 8

func (l *locked) next(s *strand) *job {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !s.surplus() {
		if j := l.jobs.first; j != nil {
			l.jobs.remove(j)
			j.body.claim()
			return j
		}
		if l.closed || l.idle == mostIdle {
			break
		}
		l.idle++
		l.work.Wait()
	}
	return nil
}

// waiting takes no lock: the caller may be about to block for that very lock.
func (l *locked) waiting() bool { return l.jobs.length.Load() > 0 }

func (l *locked) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.idle = 0
	l.work.Broadcast()
}

func (*locked) enter(*strand) {}
func (*locked) leave(*strand) {}
func (*locked) fewer()        {}
func (*locked) replace()      {}
func (*locked) end()          {}
