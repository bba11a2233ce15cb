package stack

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	minSlabStacks = colours   // stacks in the first slab of a pool, one of each colour
	maxSlabStacks = 4096      // stacks in any slab
	maxSlabBytes  = 512 << 20 // length of a slab that holds more than one stack
)

// slab is one mapping cut into stacks. Its pool's mutex guards the fields below
// the blank line, and cuts may change without it.
type slab struct {
	pool   *Pool
	mem    unsafe.Pointer
	length uintptr // bytes mapped
	stride uintptr // bytes from one guard to the next
	stacks []Stack // entries below used are initialised
	cuts   atomic.Int64

	used   int    // stacks ever taken
	free   *Stack // taken once, and given back
	held   int    // stacks in use or idle
	roomAt int    // index in the pool's room list, -1 if full
}

// mapSlab maps a slab of n stacks, or of fewer if n do not fit.
func mapSlab(p *Pool, n int) (*slab, error) {
	stride := p.stride()
	for {
		length := stride * uintptr(n)
		mem, err := mmap(length)
		if err == nil {
			// A huge page would back the first touch of 30 stacks with 2 MB.
			// Kernels without huge pages refuse the advice, and need none.
			_ = madvise(uintptr(mem), length, unix.MADV_NOHUGEPAGE)
			return &slab{pool: p, mem: mem, length: length, stride: stride, stacks: make([]Stack, n), roomAt: -1}, nil
		}
		if n == 1 {
			return nil, errAddresses(length, err)
		}
		n /= 2
	}
}

// mmap maps length bytes that take no memory until they are touched.
func mmap(length uintptr) (unsafe.Pointer, error) {
	if err := checkAddresses(length); err != nil {
		return nil, err
	}
	return unix.MmapPtr(-1, 0, nil, length, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE|unix.MAP_STACK)
}

// errAddresses is the error of a slab that could not be mapped.
func errAddresses(length uintptr, cause error) error {
	return fmt.Errorf(
		"%w: %d bytes cannot be mapped, %d being left to the rest of the process: "+
			"raise the limit on address space (RLIMIT_AS, ulimit -v), on locked memory if it is locked "+
			"(RLIMIT_MEMLOCK), or vm.max_map_count, allow overcommit (vm.overcommit_memory), "+
			"or hold fewer or smaller stacks: %w",
		ErrExhausted, length, addressReserve, cause,
	)
}

// unmap gives the addresses back. When the kernel refuses, the slab is as before.
func (s *slab) unmap() error {
	if err := unix.MunmapPtr(s.mem, s.length); err != nil {
		return fmt.Errorf(
			"%w: munmap of a slab of %d stacks: %w: raise vm.max_map_count", ErrExhausted, len(s.stacks), err,
		)
	}
	joinMappings(s.cuts.Load())
	return nil
}

// nextSlabStacks returns the number of stacks for the next slab of a pool that
// has room for n. Each slab doubles the room: there are few slabs, and a pool of a
// few stacks maps little.
func nextSlabStacks(n int, stride uintptr) int {
	most := max(1, int(maxSlabBytes/stride))
	return min(max(n, minSlabStacks), maxSlabStacks, most)
}

func (s *slab) base() uintptr { return uintptr(s.mem) }

func (s *slab) hasRoom() bool { return s.free != nil || s.used < len(s.stacks) }

// take removes a stack from the free ones; there must be room. A stack that was
// never taken before has no guard yet. The caller keeps held right.
func (s *slab) take() *Stack {
	if st := s.free; st != nil {
		s.free, st.next = st.next, nil
		return st
	}
	st := &s.stacks[s.used]
	st.slab = s
	st.lo = s.base() + uintptr(s.used)*s.stride + s.pool.guardSize
	st.hi = st.lo + s.pool.size
	st.top = colouredTop(st.hi, s.used)
	s.used++
	return st
}

// give adds a stack to the free ones. The caller keeps held right.
func (s *slab) give(st *Stack) {
	st.state = stateFree
	s.free, st.next = st, s.free
}

// release gives the pages of a stack back to the kernel; its guard stays. Locked
// memory cannot be released: the stack keeps its pages then.
func (st *Stack) release() { _ = madvise(st.lo, st.hi-st.lo, unix.MADV_DONTNEED) }

// releaseAll does what release does, for all stacks of a slab.
func (s *slab) releaseAll() {
	_ = madvise(s.base(), s.length, unix.MADV_DONTNEED)
}
