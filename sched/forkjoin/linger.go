package forkjoin

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"

	"fiberlab/internal/clock"
	"fiberlab/internal/spinlock"
	"fiberlab/sched"
)

// lingering is how a heartbeat does without most beats of the thread. Each of these interrupts a worker: a timer, and two switches between threads,
// which takes as long as thousands of forks. So the thread beats for a pool only while one of its workers has nothing to do. And a drainer that finds no
// job does not end at once: it beats itself, and looks for a while for what that brings. To hand it a fork takes no system call.
//
//	a worker sleeps       the thread beats        a strand hands out a fork, and wakes the worker
//	a drainer lingers     the drainer beats       a strand hands out a fork, and the drainer sees it
//	all workers compute   no beat
type lingering struct {
	most int64 // how many drainers may linger at once: half of the processors, since the other strands need some

	_         cpu.CacheLinePad
	strands   atomic.Int64 // how many have a beat: they are on fibers, and not parked
	lingerers atomic.Int64 // how many of these linger
	beating   atomic.Bool  // the pool counts among those for which the thread beats
	asked     atomic.Int64 // when a drainer last beat, a clock.Instant
	_         cpu.CacheLinePad
}

// longestLinger is how long a drainer lingers at most: as long as two beats, by default.
const longestLinger = clock.Instant(200 * time.Microsecond)

// pollsPerLook is how often a drainer that lingers polls the queue between two looks at everything else.
const pollsPerLook = 64

// listen has the thread beat for the pool if a strand is at work and another worker would take a fork, and otherwise not. Call it after each
// change of that. If several calls meet, the call that changes beating looks again, and sees what the others' callers have changed.
func (h *heartbeat) listen() {
	for {
		need := h.strands.Load() > 0 && h.pool.wanted()
		if need == h.beating.Load() {
			return
		}
		if h.beating.CompareAndSwap(!need, need) {
			if need {
				busy()
			} else {
				idle()
			}
		}
	}
}

// linger claims a job that comes soon, for a drainer, whose strand is s. It returns nil if none does; at once if s may not linger, if no other strand
// could bring one, or if the worker has something else to run. The drainer counts as active meanwhile, so submit starts no other in its place.
func (h *heartbeat) linger(s *strand) *job {
	if !s.hooked {
		return nil
	}
	defer h.lingerers.Add(-1)
	if h.lingerers.Add(1) > h.most {
		return nil
	}
	for began := clock.Now(); ; {
		now := clock.Now()
		if now-began > longestLinger || h.strands.Load() <= h.lingerers.Load() || h.pool.closed.Load() || s.surplus() || !sched.Alone() {
			return nil
		}
		h.ask(now)
		for range pollsPerLook {
			if j := h.queue.next(); j != nil {
				return j
			}
			spinlock.Pause()
		}
		_, _, _ = unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0) // to a thread that may have to bring the job
	}
}

// ask beats, so that the strands hand out a fork each, unless a drainer has done so less than a period ago.
func (h *heartbeat) ask(now clock.Instant) {
	last := h.asked.Load()
	if now-clock.Instant(last) >= clock.Instant(h.pool.cfg.Beat) && h.asked.CompareAndSwap(last, int64(now)) {
		beats.Add(1)
	}
}

// replace implements form: a drainer that may linger takes the strand's place. So the worker need not be woken for the next fork.
func (h *heartbeat) replace() {
	if n := h.lingerers.Load(); n < h.most && h.strands.Load() > n {
		h.pool.start()
	}
}
