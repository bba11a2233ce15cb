package forkjoin

/*
#cgo CFLAGS: -O2 -Wall -Wextra
#include "beat.h"
*/
import "C"

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// beats grows by one each period while a pool is busy, and wraps around. It lies in memory of C: one thread, that of beat.c,
// beats for all pools. Drainers that linger increment it too.
var beats = (*atomic.Uint32)(unsafe.Pointer(&C.fiberlab_beat.beats))

var (
	poolsBusy   = (*atomic.Int32)(unsafe.Pointer(&C.fiberlab_beat.busy))
	beatAsleep  = (*atomic.Uint32)(unsafe.Pointer(&C.fiberlab_beat.asleep))
	beatChanges = (*atomic.Uint32)(unsafe.Pointer(&C.fiberlab_beat.changes))
)

// beatPeriods are those of the calls of beatStart for which there has been no beatStop.
var beatPeriods struct {
	sync.Mutex
	all []time.Duration
}

// beatStart has beats grow once in period, or more often if another caller asks for that. The first call makes the
// thread; it fails if the system has none to spare. period must be positive.
func beatStart(period time.Duration) error {
	p := &beatPeriods
	p.Lock()
	defer p.Unlock()
	if len(p.all) == 0 || period < slices.Min(p.all) {
		if e := C.fiberlab_beat_set(C.int64_t(period)); e != 0 {
			return fmt.Errorf("forkjoin: no thread for the beat: %w: let others end, or raise the limit of processes", syscall.Errno(e))
		}
	}
	p.all = append(p.all, period)
	return nil
}

// beatStop takes back one call of beatStart with that period. The last one returns when the thread is gone. The
// caller's pool must not be busy.
func beatStop(period time.Duration) {
	p := &beatPeriods
	p.Lock()
	defer p.Unlock()
	i := slices.Index(p.all, period)
	p.all = slices.Delete(p.all, i, i+1)
	if len(p.all) == 0 {
		C.fiberlab_beat_set(0)
	} else if now := slices.Min(p.all); now > period {
		C.fiberlab_beat_set(C.int64_t(now))
	}
}

// busy says that a pool needs beats: a strand runs its tasks, and another worker has nothing to do; see heartbeat.listen. It makes a system call only if the thread of the beat sleeps.
func busy() {
	poolsBusy.Add(1) // before the load: see sleep_until_busy
	if beatAsleep.Load() != 0 && beatAsleep.CompareAndSwap(1, 0) {
		beatChanges.Add(1)
		// It does not block, so the runtime need not know of it.
		_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(beatChanges)), futexWakePrivate, 1, 0, 0, 0)
	}
}

const futexWakePrivate = 1 | 128 // of futex(2)

// idle says that a pool that was busy needs no more beats.
func idle() { poolsBusy.Add(-1) }
