package fiber

import (
	"sync/atomic"
	"time"
)

// Each fiber begins cold, and a hand-over only passes the cold on, from the fiber
// that is entered to the one that leaves. To get rid of it, a cold fiber must be
// entered without handing over. It then waits until it gets a P, for nothing if
// one is idle, else for the runtime's monitor, but the one that left stays warm,
// and so will be the one that waited.
//
// So waiting is an investment: a warm switch costs a fraction of a cold one, for
// as long as the fiber lives. It is made on instalments, so that no more than a
// third of the time goes into it.

// restAfterWait is how long no further wait is risked after one, as a multiple of
// what that one took.
const restAfterWait = 2

// longestWait bounds what a wait is taken for, in nanoseconds: the monitor sleeps
// 10 ms at most. What took longer was no wait but a switch that failed.
const longestWait = int64(10 * time.Millisecond)

var (
	warming      atomic.Uint32 // the index of the fiber that waits, or 0
	warmingSince atomic.Int64  // since when
	nextWarming  atomic.Int64  // the earliest moment of the next wait
	processStart = time.Now()
)

// sinceStart is a monotonic clock in nanoseconds.
func sinceStart() int64 { return int64(time.Since(processStart)) }

// warm decides whether t, which is cold, shall be entered without handing over.
// Never for the first time, and never to come back to a root, which is what whoever
// makes many fibers does in between: making them is not to be mixed with waiting.
func warm(t *carrier) bool {
	if !t.entered.Load() {
		return false
	}
	now, next := sinceStart(), nextWarming.Load()
	// Until the wait is over and has been measured, nobody else begins one.
	if now < next || !nextWarming.CompareAndSwap(next, now+restAfterWait*longestWait) {
		return false
	}
	warmingSince.Store(now)
	warming.Store(uint32(t.block.index))
	return true
}

// warmed is called by the fiber that waited, once it runs.
func warmed() {
	now := sinceStart()
	warming.Store(0)
	nextWarming.Store(now + restAfterWait*min(now-warmingSince.Load(), longestWait))
}
