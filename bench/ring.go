package bench

/*
#include "ring.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"time"

	"fiberlab/stack"
)

// ring switches round n C fibers, so that every switch finds another context and another stack. With many
// fibers none of it is in a cache.
type ring struct {
	n      int // fibers that a lap passes
	pool   *stack.Pool
	stacks []*stack.Stack
	c      *C.struct_ring
}

// OpenRing makes a ring of n C contexts on stacks of the default size. It goes round the ring once, so that
// every stack has its memory, a page or two. If n is less than 1 it returns an error. If memory or mappings
// run out, the error comes from package stack.
func OpenRing(n int) (Session, error) {
	if n < 1 {
		return nil, fmt.Errorf("bench: a ring of %d fibers: it needs at least 1", n)
	}
	pool, err := stack.NewPool(stack.Options{})
	if err != nil {
		return nil, err
	}
	r := &ring{n: n, pool: pool}
	r.c, err = C.ring_open(C.size_t(n))
	if r.c == nil {
		return nil, errors.Join(fmt.Errorf("allocating %d contexts: %w", n, err), r.Close())
	}
	for i := range n {
		st, err := pool.Get()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("bench: a ring of %d fibers: %w", n, err), r.Close())
		}
		r.stacks = append(r.stacks, st)
		C.ring_set_stack(r.c, C.size_t(i), C.uintptr_t(st.Lo()), C.uintptr_t(st.Top()))
	}
	C.ring_run(r.c, 1)
	return r, nil
}

func (r *ring) Run(n int) (Sample, error) {
	laps := laps(n, r.n)
	s := Sample{Operations: laps * (r.n + 1)}
	err := onCPU(currentCPU(), func() error {
		s.Elapsed = time.Duration(C.ring_run(r.c, C.uint64_t(laps)))
		return nil
	})
	return s, err
}

// limit has laps pass the first n fibers alone.
func (r *ring) limit(n int) {
	r.n = n
	C.ring_limit(r.c, C.size_t(n))
}

// length counts the switches of a lap.
func (r *ring) length() int { return int(C.ring_length(r.c)) }

func (r *ring) Close() error {
	C.ring_close(r.c)
	var err error
	for _, st := range r.stacks {
		err = errors.Join(err, r.pool.Put(st))
	}
	return errors.Join(err, r.pool.Close())
}

// laps is how many laps of a ring of the caller and n fibers make at least so many switches.
func laps(switches, n int) int {
	return max(1, (switches+n)/(n+1))
}
