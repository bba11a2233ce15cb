package bench

// #include "ring.h"
import "C"

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"fiberlab/fiber"
	"fiberlab/stack"
)

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

// mostFibers returns how many fibers a ring may have: they take at most half of the memory that is free and, where each
// guard splits a mapping, of the mappings that the kernel allows. why says what ends a ring below 1,000,000.
func mostFibers() (most int, why string) {
	most = ringSizes[len(ringSizes)-1]
	memory, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(memory)) {
		var kilobytes int
		if n, _ := fmt.Sscanf(line, "MemAvailable: %d kB", &kilobytes); n == 1 && kilobytes<<10/2/perFiber < most {
			most = kilobytes << 10 / 2 / perFiber
			why = fmt.Sprintf("The ring ends at %d fibers: they would take half of the free memory.", most)
		}
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
