//go:build !race

package spinlock

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// polls is how often a waiter tries before it assumes that the holder is not running.
const polls = 64

// A holder that does not run has lost its processor: to another thread, or to another goroutine. So a waiter first
// yields to threads. Then it yields to goroutines, but only once. Where goroutines compute on all processors, a
// goroutine that yields goes on 10 ms later; by then the holder has run too. After that the waiter sleeps, and longer
// each time.
const (
	threadYields = 4
	shortSleep   = 20 * time.Microsecond
	longSleep    = time.Millisecond
)

// lateAfter is how often a waiter backs off before it is late.
const lateAfter = threadYields

// yield lets other goroutines run. Tests change it.
var yield = runtime.Gosched

// backOff waits for a while. times is how often the caller has done so before.
func backOff(times int) {
	switch {
	case times < threadYields:
		yieldThread()
	case times == threadYields:
		yield()
	default:
		time.Sleep(min(shortSleep*time.Duration(times-threadYields), longSleep))
	}
}

// yieldThread lets other threads run on the caller's processor.
func yieldThread() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
