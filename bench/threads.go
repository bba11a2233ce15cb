package bench

// #include "threads.h"
import "C"

import (
	"errors"
	"time"
)

// threads switches between two threads on one processor: this is what a switch by the kernel costs.
func threads(n int) (time.Duration, error) {
	return onThreads(func() C.uint64_t { return C.threads_run(C.uint64_t(trips(n))) })
}

// createThreads makes threads that do nothing, one after the other, and waits for the end of each.
func createThreads(n int) (time.Duration, error) {
	return onThreads(func() C.uint64_t { return C.threads_create(C.uint64_t(n)) })
}

// onThreads runs a loop of threads.c on one processor.
func onThreads(loop func() C.uint64_t) (time.Duration, error) {
	s, err := timed(1, loop)
	if err == nil && s.Elapsed == 0 {
		err = errors.New("a thread could not be made")
	}
	return s.Elapsed, err
}
