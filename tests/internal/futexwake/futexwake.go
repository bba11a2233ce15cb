// Package futexwake measures what waking a thread costs without a scheduler: two C threads and futex(2).
package futexwake

/*
#cgo CFLAGS: -O2 -Wall -Wextra
#cgo LDFLAGS: -lpthread
#include "futexwake.h"
*/
import "C"

import (
	"fmt"
	"syscall"
	"time"
)

// Measure returns how long each of n wakes took, from before the call until the woken thread ran. Before each,
// both threads have slept for the time of quiet. n must not be 0.
func Measure(quiet time.Duration, n int) ([]time.Duration, error) {
	nanoseconds := make([]C.uint64_t, n)
	if code := C.futexwake_measure(C.uint64_t(quiet), C.size_t(n), &nanoseconds[0]); code != 0 {
		return nil, fmt.Errorf("futexwake: threads for %d wakes: %w", n, syscall.Errno(code))
	}
	samples := make([]time.Duration, n)
	for i, ns := range nanoseconds {
		samples[i] = time.Duration(ns)
	}
	return samples, nil
}
