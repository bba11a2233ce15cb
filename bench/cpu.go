package bench

/*
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
*/
import "C"

import (
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// currentCPU returns the number of the processor that the calling thread runs on now.
func currentCPU() int {
	return int(C.sched_getcpu())
}

// pinHere pins the first thread of the process with that number to the processor that the caller runs on now.
func pinHere(pid int) error {
	var here unix.CPUSet
	here.Set(currentCPU())
	if err := unix.SchedSetaffinity(pid, &here); err != nil {
		return fmt.Errorf("bench: pinning process %d: %w", pid, err)
	}
	return nil
}

// timed makes a sample of a loop in C, which returns nanoseconds. The loop runs pinned to the current processor.
func timed(operations int, loop func() C.uint64_t) (Sample, error) {
	s := Sample{Operations: operations}
	err := onCPU(currentCPU(), func() error {
		s.Elapsed = time.Duration(loop())
		return nil
	})
	return s, err
}

// onCPU pins the calling thread to processor cpu, calls f on it, and restores the thread's processors. It
// returns f's error, or the error of a system call that failed. If cpu does not exist, f is not called.
func onCPU(cpu int, f func() error) error {
	runtime.LockOSThread()
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("asking for the thread's processors: %w", err)
	}
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("pinning the thread to processor %d: %w", cpu, err)
	}
	err := f()
	if restored := unix.SchedSetaffinity(0, &before); restored != nil {
		// The thread stays locked, so that it ends with its goroutine and runs no other.
		return fmt.Errorf("unpinning the thread from processor %d: %w", cpu, restored)
	}
	runtime.UnlockOSThread()
	return err
}
