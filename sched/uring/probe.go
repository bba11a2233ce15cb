package uring

// #include "ring.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
)

// ErrUnavailable is wrapped by errors that say why there is no io_uring.
var ErrUnavailable = errors.New("no io_uring")

// Feature is a part of io_uring that package uring uses where it is present.
type Feature struct {
	Name    string
	Present bool
	Why     string // what it is good for, or why it is missing
}

// Report says which driver Auto takes in this process, and why.
type Report struct {
	Driver   Driver    // what Auto takes: Uring or Epoll
	Reason   error     // why that is not Uring: it wraps ErrUnavailable; nil if it is
	Features []Feature // of io_uring, the missing ones included
}

// String names the driver. If that is not Uring, it also says why.
func (r Report) String() string {
	if r.Reason != nil {
		return fmt.Sprintf("driver %v: %v", r.Driver, r.Reason)
	}
	return fmt.Sprintf("driver %v", r.Driver)
}

// Probe opens a ring, enters it, asks the kernel what it has, and closes it. If that fails, the report says why: an old
// kernel, a container's filter, the administrator, an emulator. It may be called from anywhere, and does not wait.
func Probe() Report {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	report := Report{Driver: Uring}
	var setup, has uint32
	r, err := openRing(8, 0)
	if err == nil {
		setup, has = r.setup(), r.has
		r.close()
	} else {
		report.Driver, report.Reason = Epoll, err
	}
	for _, f := range []struct {
		name    string
		present bool
		since   string
		use     string
	}{
		{"SINGLE_ISSUER", setup&setupSingleIssuer != 0, "6.0", "one thread submits: the kernel needs fewer locks"},
		{"DEFER_TASKRUN", setup&setupDeferTaskrun != 0, "6.1", "completions are worked on in batches, on demand"},
		{"COOP_TASKRUN", setup&(setupCoopTaskrun|setupDeferTaskrun) != 0, "5.19", "no completion interrupts the thread"},
		{"operations", has&C.FIBERLAB_HAS_OPS != 0, "5.11", "each one that is used"},
		{"multishot accept", has&C.FIBERLAB_HAS_MULTISHOT_ACCEPT != 0, "5.19", "one request accepts all connections"},
		{"multishot receive", has&C.FIBERLAB_HAS_MULTISHOT_RECEIVE != 0, "6.0", "one request receives all that comes"},
		{"provided buffer rings", has&C.FIBERLAB_HAS_BUFFER_RING != 0, "5.19", "a buffer is taken once bytes are there"},
	} {
		why := f.use
		switch {
		case report.Reason != nil:
			why = "there is no ring to have it"
		case !f.present:
			why = "this kernel has none: it came with Linux " + f.since
		}
		report.Features = append(report.Features, Feature{f.name, f.present, why})
	}
	return report
}

// explain returns an error that says why no ring can be used, and what helps. call is the system call that has failed.
func explain(call string, errno syscall.Errno) error {
	why := "the kernel refuses it"
	switch {
	case call != "io_uring_setup":
		why = call + " is forbidden, though io_uring_setup is not: see the container's seccomp profile"
	case errno == syscall.ENOSYS:
		why = "this kernel, or the emulator or filter that stands for it, does not know io_uring_setup; it came with " +
			"Linux 5.1"
	case errno == syscall.EPERM, errno == syscall.EACCES:
		why = "forbidden: see sysctl kernel.io_uring_disabled and the container's seccomp profile"
	case errno == syscall.EOPNOTSUPP:
		why = "this kernel's io_uring is too old: Linux 5.13 is needed"
	case errno == syscall.ENOMEM:
		why = "no memory that may be locked: raise ulimit -l"
	case errno == syscall.EMFILE, errno == syscall.ENFILE:
		why = "no descriptor is left: raise ulimit -n"
	}
	return fmt.Errorf("sched/uring: %w: %s: %w", ErrUnavailable, why, errno)
}
