//go:build !race

package spinlock

import (
	"runtime"
	"time"
)

// polls is how often a waiter looks before it supposes that the holder is not running.
const polls = 64

// patience is how often a waiter rests before it is late.
const patience = 1

// A holder that does not run is a goroutine that has lost its processor, or a thread that
// the kernel has suspended. So a waiter first gives way to other goroutines some times; then it
// sleeps, and longer each time.
const (
	mostYields = 4
	shortSleep = 20 * time.Microsecond
	longSleep  = time.Millisecond
)

// rest waits for a while, having done so times before.
func rest(times int) {
	if times < mostYields {
		runtime.Gosched()
		return
	}
	time.Sleep(min(shortSleep*time.Duration(times-mostYields+1), longSleep))
}
