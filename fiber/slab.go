package fiber

/*
#include "core.h"
*/
import "C"

import "unsafe"

// slabs hold elements of one size in C memory. Addresses stay valid until the process ends: a late reader of a free
// element finds its old contents, or zeroes. The caller of each method holds the owner's lock.
type slabs struct {
	size  uintptr // bytes of an element
	all   []slab
	free  []uint32 // numbers of the elements that are not in use
	count uint32   // elements that were ever in use
}

// slab is one piece of that memory, slabBytes long.
type slab struct {
	memory unsafe.Pointer
	inUse  int
}

const slabBytes = 64 << 10

// take returns an element that is not in use and its number, which counts from 0. It reports whether that is the
// first of a new slab, whose memory is zero. It returns nil when there is no memory.
func (s *slabs) take() (element unsafe.Pointer, number uint32, newSlab bool) {
	if n := len(s.free); n > 0 {
		number = s.free[n-1]
		s.free = s.free[:n-1]
	} else {
		number = s.count
		if newSlab = int(number/s.perSlab()) == len(s.all); newSlab {
			memory := C.fiberlab_slab_new(slabBytes)
			if memory == nil {
				return nil, 0, false
			}
			s.all = append(s.all, slab{memory: memory})
		}
		s.count++
	}
	s.all[number/s.perSlab()].inUse++
	return s.at(number), number, newSlab
}

// put takes back the element of that number.
func (s *slabs) put(number uint32) {
	s.all[number/s.perSlab()].inUse--
	s.free = append(s.free, number)
}

// at returns the element of that number.
func (s *slabs) at(number uint32) unsafe.Pointer {
	return unsafe.Add(s.all[number/s.perSlab()].memory, uintptr(number%s.perSlab())*s.size)
}

func (s *slabs) perSlab() uint32 { return uint32(slabBytes / s.size) }

// release gives the pages of each slab without an element in use back to the system, after it has called
// before for each element there. The bytes are zero then, or as they were.
func (s *slabs) release(before func(element unsafe.Pointer)) {
	for i := range s.all {
		if s.all[i].inUse > 0 {
			continue
		}
		first := uint32(i) * s.perSlab()
		for number := first; before != nil && number < min(first+s.perSlab(), s.count); number++ {
			before(s.at(number))
		}
		C.fiberlab_slab_release(s.all[i].memory, slabBytes)
	}
}
