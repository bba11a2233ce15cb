package bench

/*
#include "threads.h"
*/
import "C"

import (
	"fmt"
	"time"
)

// threads switches between two threads on one processor: this is what a switch by the kernel costs.
type threads struct {
	cpu int
	c   *C.struct_threads
}

func openThreads() (Session, error) {
	cpu := currentCPU()
	c, err := C.threads_open(C.int(cpu))
	if c == nil {
		return nil, fmt.Errorf("starting a thread on processor %d: %w", cpu, err)
	}
	return &threads{cpu: cpu, c: c}, nil
}

func (t *threads) Run(n int) (Sample, error) {
	s := Sample{Operations: 2 * trips(n)}
	err := onCPU(t.cpu, func() error {
		s.Elapsed = time.Duration(C.threads_run(t.c, C.uint64_t(trips(n))))
		return nil
	})
	return s, err
}

func (t *threads) Close() error {
	C.threads_close(t.c)
	return nil
}
