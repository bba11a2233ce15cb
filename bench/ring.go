package bench

// #include <stdlib.h>
// #include "ring.h"
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"fiberlab/stack"
)

// ring is n C fibers, each of which switches to the next, so that every switch finds another context and another stack.
// With many fibers none of it is in a cache. The ring is there while one of its parts is open.
type ring struct {
	size, open int
	pool       *stack.Pool
	stacks     []*stack.Stack
	members    *C.struct_member // the caller, and the fibers
}

// ringPart is the first n fibers of a ring, as a session.
type ringPart struct {
	*ring
	n int
}

// OpenRing makes a ring of n C contexts on stacks of the default size. Run goes round it once before it measures, so
// that every stack has its memory, a page or two. If n is less than 1 OpenRing returns an error. If memory or mappings
// run out, the error comes from package stack.
func OpenRing(n int) (Session, error) {
	if n < 1 {
		return nil, fmt.Errorf("bench: a ring of %d fibers: it needs at least 1", n)
	}
	return (&ring{size: n}).part(n)
}

// part opens the first n fibers of the ring.
func (r *ring) part(n int) (Session, error) {
	if r.open == 0 {
		if err := r.make(); err != nil {
			return nil, errors.Join(fmt.Errorf("bench: a ring of %d fibers: %w", r.size, err), r.free())
		}
	}
	r.open++
	return &ringPart{r, n}, nil
}

func (r *ring) make() (err error) {
	if r.pool, err = stack.NewPool(stack.Options{}); err != nil {
		return err
	}
	contexts, err := C.calloc(C.size_t(r.size+1), C.sizeof_struct_member)
	if contexts == nil {
		return err
	}
	r.members = (*C.struct_member)(contexts)
	for i := range r.size {
		st, err := r.pool.Get()
		if err != nil {
			return err
		}
		r.stacks = append(r.stacks, st)
		C.ring_set_stack(r.member(i+1), C.uintptr_t(st.Lo()), C.uintptr_t(st.Top()))
	}
	return nil
}

func (r *ring) member(i int) *C.struct_member {
	return (*C.struct_member)(unsafe.Add(unsafe.Pointer(r.members), i*C.sizeof_struct_member))
}

func (r *ring) free() (err error) {
	C.free(unsafe.Pointer(r.members))
	for _, st := range r.stacks {
		err = errors.Join(err, r.pool.Put(st))
	}
	if r.pool != nil {
		err = errors.Join(err, r.pool.Close())
	}
	r.members, r.stacks, r.pool = nil, nil, nil
	return err
}

func (p *ringPart) Run(n int) (Sample, error) {
	laps := laps(n, p.n)
	return timed(laps*(p.n+1), func() C.uint64_t { return C.ring_run(p.members, C.size_t(p.n), C.uint64_t(laps)) })
}

func (p *ringPart) Close() error {
	if p.open--; p.open > 0 {
		return nil
	}
	return p.free()
}

// laps is how many laps of a ring of the caller and n fibers make at least so many switches.
func laps(switches, n int) int {
	return max(1, (switches+n)/(n+1))
}
