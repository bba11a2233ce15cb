package sched

import (
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"fiberlab/internal/spinlock"
)

// mostYields is how often relock lets other threads run before it blocks its own, and mostPauses how often it
// tries the lock before it does.
const (
	mostYields = 8
	mostPauses = 32
)

// yieldThread lets other threads run on the caller's processor. Tests replace it.
var yieldThread = func() { _, _, _ = syscall.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }

// relock locks what a fiber has released in order to wait, when the wait has ended.
//
// A fiber is often notified by a thread that holds the lock still. If that thread has to be woken for it, the kernel may well
// put it on the notifier's processor and let it run at once: the notifier has lost its processor in the middle of Notify.
// To block on a sync.Mutex would then be the wrong answer. It blocks the thread of the worker, since a goroutine that is locked to
// its thread takes it along; and the Go runtime needs two more threads to find and wake it. To give the
// processor back takes two microseconds, and the notifier releases the lock. A notifier that still has a processor
// releases it sooner than that: so relock first spins as long as a notifier takes.
func relock(lock sync.Locker) {
	if m, plain := lock.(*sync.Mutex); plain {
		for range mostYields {
			for range mostPauses {
				if m.TryLock() {
					return
				}
				spinlock.Pause()
			}
			yieldThread()
		}
	}
	lock.Lock()
}
