package forkjoin

import "sync/atomic"

// list has forks of one strand that no other strand can touch, the oldest first.
type list interface {
	// handOldest puts the oldest fork that has not been handed out where others find it. It returns false if there is none.
	handOldest() bool
}

// always is the beat of a strand that hands out each fork: it has never seen this beat. Such are all strands of the forms without a
// beat, and goroutines, which nothing tells when they block.
var always uint32 = 1

// pulse is called at a fork, if beat has changed. It hands out the oldest fork of the strand, if a worker would take it at once. If the
// beat is always, it hands out each fork.
func (s *strand) pulse() {
	if s.beat == &always {
		s.handOne() // and does not count it: strands that write to the same word at each fork would slow each other down
		return
	}
	s.seen = atomic.LoadUint32(s.beat)
	h := s.pool.form.(*heartbeat)
	if !h.wanted() {
		h.listen() // it may be that no beat is needed any more
	} else if s.handOne() {
		s.pool.handed.Add(1)
	}
}

// due tells whether the strand has to call pulse.
func (s *strand) due() bool { return atomic.LoadUint32(s.beat) != s.seen }

// handOne hands out the oldest fork of the strand. It returns false if all have been handed out.
func (s *strand) handOne() bool {
	for _, l := range s.lists {
		if l.handOldest() {
			return true
		}
	}
	return false
}

// forks are those of Join that have not been joined, the oldest first. Under recursion the newest is joined first, so they are a stack.
type forks struct {
	strand *strand
	stack  []fork
	handed int // how many have been handed out: they are the oldest
}

// fork is the forked half of a Join: a waiting, or a *branch once it has been handed out.
type fork interface{ hand(s *strand) fork }

func (f *forks) handOldest() bool {
	if f.handed == len(f.stack) {
		return false
	}
	f.stack[f.handed] = f.stack[f.handed].hand(f.strand)
	f.handed++
	return true
}
