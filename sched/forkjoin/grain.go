package forkjoin

import (
	"sync/atomic"
	"time"

	"fiberlab/internal/clock"
)

// A range is halved by Join until a share is no larger than a grain. So all that has not begun lies where the pool
// keeps forks: the largest shares are taken first, and if a body parks, others go on with the rest. What the forks
// cost is little if the body of a grain takes much longer than a fork.

// grain is the size of a share that is not halved. All strands of one call use the same one.
type grain struct {
	pool  *shared
	given uint          // by the caller; 0: the size is found by trial
	most  uint          // what is found by trial is no larger: later elements may take longer than those before
	found atomic.Uint64 // so many elements take about grainTime, as far as is known
}

// begin prepares a grain for n elements on p.
func (g *grain) begin(p *Pool, n, given uint) {
	g.pool, g.given = p.of, given
	g.most = n / uint(sharesEach*max(1, p.of.scheduler.Workers()))
}

const (
	grainTime  = 20 * time.Microsecond // what a grain takes, within a factor of two
	mostGrowth = 4                     // shares double in size from left to right, so this is enough at a time
	sharesEach = 4                     // there are at least so many shares for each worker
	idleCuts   = 16                    // how many times less a grain takes while a worker has nothing to do
	mostGrain  = 1 << 40               // no overflow
)

// length is the number of integers from begin to end, which may be more than an int can count.
func length(begin, end int) uint { return uint(end) - uint(begin) }

// middle is the first integer of the upper half of that range.
func middle(begin, end int) int { return begin + int(length(begin, end)/2) }

// halves reports whether a share of n elements must be halved.
func (g *grain) halves(n uint) bool {
	if g.given > 0 {
		return n > g.given
	}
	found := uint(g.found.Load())
	size := min(found, g.most)
	if n > found/idleCuts && g.pool.idle() {
		size = min(size, found/idleCuts)
	}
	return n > max(1, size)
}

// start returns when a share that is not halved begins.
func (g *grain) start() clock.Instant {
	if g.given > 0 {
		return 0
	}
	return clock.Now()
}

// learn takes note of how long n elements took, of which found may be many times as many. If several strands do so at
// the same time, one is as good as the other.
func (g *grain) learn(n uint, start clock.Instant) {
	if g.given > 0 {
		return
	}
	found := max(1, uint(g.found.Load()))
	switch took := time.Duration(clock.Now() - start); {
	case took > 2*grainTime && found > n/2:
		g.found.Store(uint64(n / 2))
	case float64(took)*float64(found) < float64(n)*float64(grainTime/2) && found < mostGrain:
		g.found.Store(uint64(mostGrowth * max(n, found)))
	}
}
