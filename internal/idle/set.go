package idle

import (
	"math/bits"
	"sync/atomic"

	"golang.org/x/sys/cpu"

	"fiberlab/internal/spinlock"
)

// Set is which workers of a policy, or of a scheduling group, are idle. It decides which of them is woken, and how many
// spin. It has two masks: a bit in spinning for each worker that spins, and one in sleeping for each that sleeps.
//
// A worker that is brought something to run is claimed: its bit is cleared, by an instruction that reports whether it
// was set. So each worker is claimed for one thing at a time. The lowest bit comes first; under light load the workers
// of higher numbers sleep on.
//
// A submitter stores into a queue and then loads the masks; a worker sets its bit and then loads the queue's counts.
// Between the two each of them has an atomic read and write, which is sequentially consistent in Go. The submitter's
// adds to the count of its queue: the lock of that is a spinlock.Lock, whose Unlock is a plain store and no fence. The
// worker's sets the bit. With less, both loads may come before the stores are seen. Then neither sees the other's, and
// the thing waits while the worker sleeps.
type Set struct {
	blocks   []block
	spinners int // workers of a block that may spin at once
	words    []*Word
	woken    func(i int, asleep bool) // is told of each wake-up; nil: there is none

	_ [2]cpu.CacheLinePad
	// A worker that spun has found work, so there is one spinner less: a worker that still spins shall wake another.
	pending atomic.Bool
	_       [2]cpu.CacheLinePad

	Spinners, Sleepers atomic.Uint64 // workers that were woken while they spun, and while they slept
	_                  [2]cpu.CacheLinePad
}

// block is the masks of 64 workers, each 128 bytes apart from what other threads write.
type block struct {
	_        [2]cpu.CacheLinePad
	spinning atomic.Uint64
	_        [2]cpu.CacheLinePad
	sleeping atomic.Uint64
	_        [2]cpu.CacheLinePad
}

// NewSet makes the empty set of workers that have these words. Of each 64 workers, as many as spinners may spin at
// once. woken, if it is not nil, is called after each wake-up, with the worker and whether it slept.
func NewSet(words []*Word, spinners int, woken func(i int, asleep bool)) *Set {
	return &Set{blocks: make([]block, (len(words)+63)/64), spinners: spinners, words: words, woken: woken}
}

// take clears the bit of a worker in a mask, and reports whether it was set.
func take(mask *atomic.Uint64, i int) bool {
	bit := uint64(1) << (i % 64)
	return mask.And(^bit)&bit != 0
}

// claim takes out the worker of the lowest number that sleeps, if asleep is true, or else spins. It returns its number,
// or -1 if there is none.
func (s *Set) claim(asleep bool) int {
	for b := range s.blocks {
		mask := &s.blocks[b].spinning
		if asleep {
			mask = &s.blocks[b].sleeping
		}
		for m := mask.Load(); m != 0; m = mask.Load() {
			if i := bits.TrailingZeros64(m); take(mask, i) {
				return 64*b + i
			}
			spinlock.Pause() // another submitter was quicker, and may be at the next bit too
		}
	}
	return -1
}

// Claim takes a worker out that spins, or else one that sleeps, and returns its number, or -1 if there is none. The
// caller brings it something to run, and notifies it.
func (s *Set) Claim() int {
	if !s.AnyIdle() { // the common case under load, and some calls less
		return -1
	}
	if i := s.claim(false); i >= 0 {
		return i
	}
	return s.claim(true)
}

// Spinning is how many workers spin. They find what has been queued without being notified, though a little later.
func (s *Set) Spinning() (n int) {
	for b := range s.blocks {
		n += bits.OnesCount64(s.blocks[b].spinning.Load())
	}
	return n
}

// AnyIdle reports whether a worker spins or sleeps.
func (s *Set) AnyIdle() bool {
	for b := range s.blocks {
		if s.blocks[b].spinning.Load()|s.blocks[b].sleeping.Load() != 0 {
			return true
		}
	}
	return false
}

// WakeOne wakes a worker: one that spins, which costs no system call, or else one that sleeps. It passes over a worker
// that has been notified for something else. It reports whether it has woken one. Any thread may call it; it does not
// block.
func (s *Set) WakeOne() bool { return s.AnyIdle() && (s.wake(false) || s.wake(true)) }

// WakeSleeper is WakeOne without the spinners.
func (s *Set) WakeSleeper() bool { return s.wake(true) }

// wake wakes a worker that sleeps, if asleep is true, or else spins, and reports whether there was one.
func (s *Set) wake(asleep bool) bool {
	for i := s.claim(asleep); i >= 0; i = s.claim(asleep) {
		if s.notify(i, asleep) {
			return true
		}
	}
	return false
}

// WakeThat wakes one worker in particular, and reports whether it did. It leaves a worker alone that is busy, or has
// been claimed for something else, since each takes one thing at a time.
func (s *Set) WakeThat(i int) bool {
	b := &s.blocks[i/64]
	if take(&b.spinning, i) {
		return s.notify(i, false)
	}
	return take(&b.sleeping, i) && s.notify(i, true)
}

// notify notifies worker i, which the caller has claimed; asleep says whether it slept or spun. It counts the wake-up,
// and calls woken. If the worker is busy or has been notified for something else, notify only returns false.
func (s *Set) notify(i int, asleep bool) bool {
	if !s.words[i].Notify() {
		return false
	}
	if asleep {
		s.Sleepers.Add(1)
	} else {
		s.Spinners.Add(1)
	}
	if s.woken != nil {
		s.woken(i, asleep)
	}
	return true
}

// BeginSpin sets the bit of a worker that spins from now on, unless enough others do, and reports whether it did. A
// spinner that has been notified is about to leave, and does not count. With a look at the mask and a later store, too
// many might spin.
func (s *Set) BeginSpin(i int) bool {
	spinning := &s.blocks[i/64].spinning
	for {
		old := spinning.Load()
		next := old
		for m := old; m != 0 && bits.OnesCount64(next) >= s.spinners; m &= m - 1 {
			if at := bits.TrailingZeros64(m); s.words[i/64*64+at].Notified() {
				next &^= 1 << at
			}
		}
		if bits.OnesCount64(next) >= s.spinners {
			return false
		}
		if spinning.CompareAndSwap(old, next|1<<(i%64)) {
			return true
		}
	}
}

// EndSpin clears the bit of a worker that leaves.
func (s *Set) EndSpin(i int) { take(&s.blocks[i/64].spinning, i) }

// BeginSleep sets the bit of a worker that is about to sleep. The worker must look for work once more then.
func (s *Set) BeginSleep(i int) { s.blocks[i/64].sleeping.Or(1 << (i % 64)) }

// EndSleep clears the bit of a worker that sleeps no more, and reports whether it had been claimed.
func (s *Set) EndSleep(i int) (claimed bool) { return !take(&s.blocks[i/64].sleeping, i) }

// LeaveWake says that a worker that spun has something to run. If others still spin, they have nothing better to do
// than to wake a worker instead of it.
func (s *Set) LeaveWake(i int) {
	if n := bits.OnesCount64(s.blocks[i/64].spinning.Load()); n > 0 && n < s.spinners {
		s.pending.Store(true)
	}
}

// Serve wakes a worker if a spinner has left that to the others. A worker that spins calls it.
func (s *Set) Serve() {
	if s.pending.Load() && s.pending.Swap(false) {
		s.WakeSleeper()
	}
}
