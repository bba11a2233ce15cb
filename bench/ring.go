package bench

/*
#include <stdlib.h>
#include "ring.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"fiberlab/fiber"
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

// ringSizes are the places on the axis of the workload of rings.
var ringSizes = []int{2, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000}

// rings is the workload of a switch in rings of more and more fibers, until none of them is in a cache. All rows share
// one ring, of which a smaller one is a part.
func rings() Workload {
	name := fiber.Backends()[0].String()
	w := Workload{
		Name: "ring", Title: "A switch in a ring of fibers", Operation: "switch", Base: name, Axis: "fibers",
		Sample: 500 * time.Microsecond, Marks: ringMarks(caches(), cpuFacts()["TLB size"]),
	}
	most, why := mostFibers()
	if why != "" {
		w.Notes = append(w.Notes, why)
	}
	w.Notes = append(w.Notes, fmt.Sprintf("A switch by asm touches %d cache lines: %d of a context, one of a stack. A "+
		"context takes %d bytes. It touches a page of a stack, and one of contexts, which %d contexts share.",
		ringLines, ringLines-1, C.sizeof_struct_member, os.Getpagesize()/C.sizeof_struct_member))
	whole := &ring{}
	for _, n := range ringSizes {
		if n <= most {
			whole.size = n
			w.Rivals = append(w.Rivals, Mechanism{Name: name, At: float64(n), Open: func() (Session, error) {
				return whole.part(n)
			}})
		}
	}
	return w
}

// ringLines is how many cache lines of 64 bytes a switch touches: of the next context two, of its stack one.
const ringLines = 3

// ringMarks says where the contexts and stacks of a ring fill a cache, and where their pages fill the TLB. For some
// processors the kernel gives the size of the TLB, as in "3584 4K pages".
func ringMarks(list []Cache, tlb string) (marks []Mark) {
	for _, c := range list {
		marks = append(marks, Mark{float64(c.Bytes / (ringLines * 64)), fmt.Sprintf(
			"L%d ends: %d KB hold no more", c.Level, c.Bytes>>10)})
	}
	if entries, _, found := strings.Cut(tlb, " "); found {
		if n, err := strconv.Atoi(entries); err == nil {
			marks = append(marks, Mark{float64(n), fmt.Sprintf("the TLB ends: it has %d pages, a stack each", n)})
		}
	}
	return marks
}

// perFiber is about what a suspended C fiber takes: one or two pages of stack, a part of the page tables, and, in the
// kernel, of what describes its mapping.
const perFiber = 9 << 10

// mostFibers returns how many fibers a ring may have. They take at most half of the free memory, or of the
// container's limit. Where each guard splits a mapping, they take at most half of vm.max_map_count, too. why says
// what ends a ring below 1,000,000.
func mostFibers() (most int, why string) {
	most = ringSizes[len(ringSizes)-1]
	var kilobytes int
	memory, _ := os.ReadFile("/proc/meminfo")
	_, available, _ := strings.Cut(string(memory), "MemAvailable:")
	_, unknown := fmt.Sscan(available, &kilobytes)
	if limit, err := strconv.Atoi(firstLine("/sys/fs/cgroup/memory.max")); err == nil {
		kilobytes = min(kilobytes, limit>>10)
	}
	if fits := kilobytes << 10 / 2 / perFiber; unknown == nil && fits < most {
		most, why = fits, fmt.Sprintf("The ring ends at %d fibers: they would take half of the memory there is.", fits)
	}
	pool, err := stack.NewPool(stack.Options{})
	if err != nil {
		return most, why
	}
	defer func() { _ = pool.Close() }()
	allowed, err := strconv.Atoi(firstLine("/proc/sys/vm/max_map_count"))
	if err == nil && pool.Stats().Guard == stack.GuardMprotect && allowed/4 < most {
		most = allowed / 4
		why = fmt.Sprintf("The ring ends at %d fibers: before Linux 6.13 a guard page splits a mapping, and "+
			"vm.max_map_count is %d.", most, allowed)
	}
	return most, why
}
