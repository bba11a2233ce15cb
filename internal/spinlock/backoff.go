//go:build !race

package spinlock

import (
	"runtime"
	"time"
)

// polls is how often a waiter tries before it assumes that the holder is not running.
const polls = 64

// lateAfter is how often a waiter backs off before it is late.
const lateAfter = 1

// A holder that does not run is a goroutine that has lost its processor, or a thread that the kernel has
// suspended. So a waiter first yields to other goroutines some times; then it sleeps, and longer each time.
const (
	mostYields = 4
	shortSleep = 20 * time.Microsecond
	longSleep  = time.Millisecond
)

// backOff waits for a while. times is how often the caller has done so before.
func backOff(times int) {
	if times < mostYields {
		runtime.Gosched()
		return
	}
	time.Sleep(min(shortSleep*time.Duration(times-mostYields+1), longSleep))
}
