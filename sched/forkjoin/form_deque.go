package forkjoin

import (
	"math/rand/v2"
	"runtime"

	"fiberlab/internal/spinlock"
)

// deques is the form in which each strand has a deque. It pushes what it forks, and pops it again, at one end. A strand that has nothing to do
// steals from the other end, where the oldest job lies: under recursion that is the largest.
//
//	strand 0   oldest [ j1 | j4 | j7 ]  <- push, pop        steal from strand 0: j1
//	strand 1   oldest [ j2 ]            <- push, pop
//	injected   [ j3 | j5 ]              from outside, and from strands that have parked
//
// A caller that needs the result of a job that is not the newest claims the job where it lies. The strand that takes it out of the deque
// later finds it claimed, and goes on to the next.
type deques struct {
	pool     *shared
	injected jobQueue

	mu      spinlock.Lock
	strands []*strand // each knows its index
}

func newDeques(p *shared) *deques { return &deques{pool: p} }

func (d *deques) submit(s *strand, j *job) {
	if s == nil {
		d.injected.push(j)
		d.pool.start()
	} else {
		if s.behind > 0 {
			d.prune(s)
		}
		d.push(s, j)
	}
}

// prune takes the newest jobs out of the deque of s that have been claimed where they lay. Without thieves they would stay, and a task
// that goes on submitting would fill the memory with them.
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
	s.fence.Swap(0) // the job is seen by a drainer that has ended before start looks at active
	d.pool.start()
}

func (d *deques) hand(s *strand, j *job) { d.submit(s, j) }

func (d *deques) takeBack(s *strand, j *job) bool {
	if s != nil {
		switch x := s.own.pop(); {
		case x == j:
			return j.private || j.body.claim()
		case x != nil:
			d.push(s, x) // a drainer may have ended because it saw nothing
		}
	}
	if j.private {
		j.stale = true
	}
	if !j.body.claim() {
		return false
	}
	if s != nil {
		s.behind++
	}
	d.injected.remove(j)
	return true
}

// stealRounds is how often a drainer looks at all other strands before it ends.
const stealRounds = 64

func (d *deques) next(s *strand) *job {
	for round := 0; round < stealRounds && !s.surplus(); round++ {
		for j := s.own.pop(); j != nil; j = s.own.pop() {
			if j.body.claim() {
				return j
			}
		}
		if j := d.injected.next(); j != nil {
			return j
		}
		if j := d.steal(s); j != nil {
			return j
		}
		if round%8 == 7 {
			runtime.Gosched()
		} else {
			spinlock.Pause()
		}
	}
	return nil
}

// steal takes the oldest job of another strand, the first of which is chosen at random.
func (d *deques) steal(s *strand) *job {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(d.strands)
	for i, first := 0, rand.IntN(n+1); i < n; i++ {
		victim := d.strands[(first+i)%n]
		if victim == s {
			continue
		}
		for again := true; again; {
			var j *job
			j, again = victim.own.steal()
			if j != nil && j.body.claim() {
				return j
			}
			again = again || j != nil
		}
	}
	return nil
}

func (d *deques) waiting() bool {
	if !d.injected.empty() {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.strands {
		if !s.own.empty() {
			return true
		}
	}
	return false
}

func (d *deques) enter(s *strand) {
	d.mu.Lock()
	s.index = len(d.strands)
	d.strands = append(d.strands, s)
	d.mu.Unlock()
}

// leave also moves the jobs of s to the injected ones: a deque whose strand does not run would only cost thieves time.
func (d *deques) leave(s *strand) {
	for again := true; again; {
		var j *job
		if j, again = s.own.steal(); j != nil {
			again = true
			if !j.body.started() {
				j.stale = true
				d.injected.push(j)
				d.pool.start() // a drainer may have ended because it saw j in neither place
			}
		}
	}
	s.behind = 0
	d.mu.Lock()
	last := len(d.strands) - 1
	d.strands[s.index] = d.strands[last]
	d.strands[s.index].index = s.index
	d.strands[last] = nil
	d.strands = d.strands[:last]
	d.mu.Unlock()
}

func (*deques) close()   {}
func (*deques) fewer()   {}
func (*deques) replace() {}
func (*deques) end()     {}
