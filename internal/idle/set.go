package idle

import (
	"math/bits"
	"sync/atomic"

	"golang.org/x/sys/cpu"

	"fiberlab/internal/spinlock"
)

// Set is which workers of a policy, or of a scheduling group, are idle. It decides which of them is woken, and how many
// spin. It has two masks: a bit in spinning for each worker that spins, and one in sleeping for each that sleeps. The
// workers alone call the methods from BeginSpin on, each for itself; any thread may call the others. None blocks.
//
// A thread that wakes a worker through the set claims it first: it clears the worker's bit, by an instruction that
// reports whether it was set. So each worker is claimed for one thing at a time. The lowest bit comes first; under
// light load the workers of higher numbers sleep on.
//
// A submitter stores into a queue, calls Add on the queue's count, and then loads the masks. A worker sets its bit, and
// then loads the count. Add and the setting are atomic reads and writes, which are sequentially consistent in Go; the
// Unlock of a queue's lock is a plain store and no fence. With less, each party might load before it could see the
// other's store. Then the entry would wait while the worker sleeps.
type Set struct {
	blocks   []block
	spinners int // workers of a block that may spin at once
	words    []*Word
	woken    func(i int, asleep bool) // called by WakeOne, WakeSleeper and WakeThat; nil: there is none

	_ [2]cpu.CacheLinePad
	// A worker that spun has found work, so there is one spinner less: a worker that still spins shall wake another.
	pending atomic.Bool
	_       [2]cpu.CacheLinePad

	Spinners, Sleepers atomic.Uint64 // wake-ups by WakeOne, WakeSleeper and WakeThat: of workers that spun, that slept
	_                  [2]cpu.CacheLinePad
}

// block is the masks of 64 workers. At least 128 bytes separate each mask from all else that threads write.
type block struct {
	_        [2]cpu.CacheLinePad
	spinning atomic.Uint64
	_        [2]cpu.CacheLinePad
	sleeping atomic.Uint64
	_        [2]cpu.CacheLinePad
}

// NewSet makes a set of workers, none of them idle. words[i] is the word of worker i. Of each 64 workers, spinners may
// spin at once. If woken is not nil, WakeOne, WakeSleeper and WakeThat call it, with i and whether worker i slept.
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

// Claim takes out a worker that spins, or else one that sleeps, and returns its number, or -1 if none is idle. The
// caller brings the worker something to run, and calls Notify, which fails if the worker is busy or has been notified.
func (s *Set) Claim() int {
	if i := s.claim(false); i >= 0 {
		return i
	}
	return s.claim(true)
}

// AnyIdle reports whether a worker spins or sleeps. Submitters ask it before they claim or wake a worker. Under load
// the answer is no, and the compiler inlines this question alone.
func (s *Set) AnyIdle() bool {
	for b := range s.blocks {
		if s.blocks[b].spinning.Load()|s.blocks[b].sleeping.Load() != 0 {
			return true
		}
	}
	return false
}

// MayDelay reports whether a worker that runs dry may call Word.Delay: workers may spin, and none sleeps. Otherwise a
// thread that brings work in that time would wake a worker that sleeps.
func (s *Set) MayDelay() bool {
	for b := range s.blocks {
		if s.blocks[b].sleeping.Load() != 0 {
			return false
		}
	}
	return s.spinners > 0
}

// WakeOne wakes a worker: one that spins, which costs no system call, or else one that sleeps. It passes over a worker
// that has been notified for something else. It reports whether it has woken one. Any thread may call it; it does not
// block.
func (s *Set) WakeOne() bool { return s.AnyIdle() && (s.wake(false) || s.wake(true)) }

// WakeSleeper is WakeOne without the spinners.
func (s *Set) WakeSleeper() bool { return s.wake(true) }

// wake is WakeOne for sleepers alone if asleep is true, and for spinners alone if it is false.
func (s *Set) wake(asleep bool) bool {
	for i := s.claim(asleep); i >= 0; i = s.claim(asleep) {
		if s.notify(i, asleep) {
			return true
		}
	}
	return false
}

// WakeThat wakes worker i, and reports whether it did. It does nothing if the worker is busy, or has been claimed or
// notified for something else: each worker takes one thing at a time.
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

// BeginSpin sets the spinning bit of worker i and returns true, or returns false if s.spinners other workers of its
// block spin. A spinner that has been notified is about to stop: BeginSpin clears its bit to make room. One
// compare-and-swap changes the mask. With a load and a separate store, too many workers might spin.
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

// EndSpin clears the bit of a worker that spins no more.
func (s *Set) EndSpin(i int) { take(&s.blocks[i/64].spinning, i) }

// BeginSleep sets the bit of a worker that is about to sleep. The worker must look for work once more then.
func (s *Set) BeginSleep(i int) { s.blocks[i/64].sleeping.Or(1 << (i % 64)) }

// EndSleep clears the bit of a worker that sleeps no more, and reports whether it had been claimed.
func (s *Set) EndSleep(i int) (claimed bool) { return !take(&s.blocks[i/64].sleeping, i) }

// LeaveWake says that worker i, which spun, has something to run. If others of its block spin, but fewer than may, the
// next Serve wakes a worker that sleeps. So worker i spends no time on that.
func (s *Set) LeaveWake(i int) {
	if n := bits.OnesCount64(s.blocks[i/64].spinning.Load()); n > 0 && n < s.spinners {
		s.pending.Store(true)
	}
}

// Serve wakes a worker that sleeps, if LeaveWake has left that to the spinners. A worker that spins calls it.
func (s *Set) Serve() {
	if s.pending.Load() && s.pending.Swap(false) {
		s.WakeSleeper()
	}
}
