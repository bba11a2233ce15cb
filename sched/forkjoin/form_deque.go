package forkjoin

import "math/rand/v2"

// deques is the form in which each strand has a deque. It pushes what it forks, and pops it again, at one end. A
// strand that has nothing to do steals from the other end, where the oldest job lies: under recursion that is the
// largest.
//
//	strand 0   oldest [ j1 | j4 | j7 ]  <- push, pop        steal from strand 0: j1
//	strand 1   oldest [ j2 ]            <- push, pop
//	injected   [ j3 | j5 ]              futures, and forks of strands that have parked
//
// What Submit returns is among the injected jobs from the beginning, out of which it can be taken from anywhere. A
// strand that joins a fork which is not its newest claims it where it lies. The strand that takes it out of the deque
// later finds it claimed, and goes on to the next.
type deques struct {
	pool     *shared
	injected jobQueue
}

func (d *deques) submit(s *strand, j *job) {
	if s == nil || !j.private {
		d.injected.push(j)
		d.pool.call()
		return
	}
	if s.behind > 0 {
		if s.behind > firstDequeSize {
			d.publish(s)
		}
		d.prune(s)
	}
	d.push(s, j)
}

// prune takes the newest jobs out of the deque of s that have been claimed where they lay. Without thieves they would
// stay, and a task that goes on forking would fill the memory with them. It does not find those behind a job that has
// not started: when they have become many, submit calls publish, which drops them.
func (d *deques) prune(s *strand) {
	for s.behind > 0 {
		j := s.own.pop()
		if j == nil {
			s.behind = 0 // others have stolen them
		} else if j.body.started() {
			s.behind--
		} else {
			d.push(s, j)
			return
		}
	}
}

// push adds j to the deque of s.
func (d *deques) push(s *strand, j *job) {
	s.own.push(j)
	s.fence.Swap(0) // the job is seen by a drainer that has ended before call looks whether one is wanted
	d.pool.call()
}

func (d *deques) takeBack(s *strand, j *job) bool {
	if j.private {
		switch x := s.own.pop(); {
		case x == j:
			return true
		case x != nil:
			d.push(s, x) // a drainer may have ended because it saw nothing
		}
	}
	if !j.body.claim() {
		return false
	}
	if j.private {
		s.behind++
	}
	d.injected.remove(j)
	return true
}

func (d *deques) next(s *strand) (j *job) {
	for j = s.own.pop(); j != nil; j = s.own.pop() {
		if j.body.claim() {
			return j
		}
	}
	if j = d.injected.next(); j != nil {
		return j
	}
	d.pool.atWork.others(s, rand.Uint(), func(victim *strand) bool {
		for again := true; again; {
			j, again = victim.own.steal()
			if j != nil && j.body.claim() {
				return true
			}
			again = again || j != nil
		}
		return false
	})
	return j
}

func (d *deques) submitted() bool { return !d.injected.empty() }

func (d *deques) waiting() bool {
	return d.submitted() || d.pool.atWork.others(nil, 0, func(s *strand) bool { return !s.own.empty() })
}

// publish moves the jobs of s to the injected ones: a deque whose strand does not run would only cost thieves time.
func (d *deques) publish(s *strand) {
	for again := true; again; {
		var j *job
		if j, again = s.own.steal(); j != nil {
			again = true
			if !j.body.started() {
				d.injected.push(j)
			}
		}
	}
	s.behind = 0
}
