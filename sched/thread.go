package sched

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"fiberlab/fiber"

	"golang.org/x/sys/unix"
)

// The thread of a multi-threaded worker: its processors, its name, and how late its timers may be.

// Affinity gives each multi-threaded worker, by its number, the CPUs that its thread may run on.
type Affinity func(worker int) []int

// prepare makes the calling goroutine a root fiber, for w. If w keeps its thread, prepare first gives the calling
// thread its name, its CPUs and a fine timer slack.
func (w *Worker) prepare() (*fiber.Fiber, error) {
	cfg := &w.scheduler.cfg
	if !w.keeps {
		return fiber.Attach(cfg.Backend)
	}
	group := -1
	if w.scheduler.Groups() > 1 {
		group = w.Group()
	}
	nameThread(threadName(cfg.Name, group, w.id))
	if cfg.Affinity != nil {
		if err := restrictTo(w.id, w.cpus); err != nil {
			return nil, err
		}
	}
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, timerSlack, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("timer slack of %s: %w", w.name, err)
	}
	return fiber.Attach(cfg.Backend)
}

// maxCPUs is how many CPUs a unix.CPUSet can name.
const maxCPUs = len(unix.CPUSet{}) * 64

// restrictTo restricts the calling thread, which is that worker's, to those CPUs.
func restrictTo(worker int, cpus []int) error {
	if len(cpus) == 0 || slices.Min(cpus) < 0 || slices.Max(cpus) >= maxCPUs {
		return fmt.Errorf(
			"%w: worker %d is given the CPUs %v: name one at least, by numbers from 0 to %d", ErrAffinity, worker, cpus,
			maxCPUs-1,
		)
	}
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf(
			"%w: worker %d on CPUs %v: %w: use CPUs that are online and allowed to this process", ErrAffinity, worker,
			cpus, err,
		)
	}
	return nil
}

// longestThreadName is how many bytes the kernel keeps of a thread's name.
const longestThreadName = 15

// threadName is the name of a worker's thread: the scheduler's name, cut so that the numbers of its scheduling group
// and of the worker fit. A group below 0 is left out.
func threadName(scheduler string, group, worker int) string {
	suffix := fmt.Sprintf("-w%d", worker)
	if group >= 0 {
		suffix = fmt.Sprintf("-g%dw%d", group, worker)
	}
	most := min(len(scheduler), max(longestThreadName-len(suffix), 0))
	return strings.ToValidUTF8(scheduler[:most], "") + suffix
}

// nameThread gives the calling thread a name, which debuggers, top and /proc show. If the kernel refuses, the thread
// keeps its present one.
func nameThread(name string) {
	var text [longestThreadName + 1]byte // ends with 0
	copy(text[:longestThreadName], name)
	_, _, _ = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_NAME, uintptr(unsafe.Pointer(&text)), 0)
}

// onFirstThread reports whether the caller is on the thread that the process began with.
func onFirstThread() bool { return unix.Gettid() == unix.Getpid() }

// elsewhere starts f on a goroutine that is locked to another thread than the caller. The caller must be locked to its
// thread; elsewhere unlocks it once f has another one.
func elsewhere(f func()) {
	locked := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		close(locked)
		f()
	}()
	<-locked
	runtime.UnlockOSThread()
}
