package stack

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// HighWater returns how deep the stack has been used, in bytes below Top, since the stack was made or its pages were
// last released by Trim, Put or Zero. A stack that Get took from the idle list still shows the marks of its former
// users.
//
// The kernel says which page is the deepest that was touched (mincore). Within that
// page HighWater takes the lowest word that is not zero. The result is never too
// large. It is too small, by less than a page, if the deepest words are zero. Pages in swap are not seen. No page is
// touched that was not before.
//
// It may be called while something runs on the stack. It returns 0 for a stack
// that is not in use.
func (st *Stack) HighWater() int {
	if st.slab == nil {
		return 0
	}
	p := st.slab.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if st.state != stateInUse {
		return 0
	}
	mark := st.deepest()
	if mark >= st.top {
		return 0
	}
	return int(st.top - mark)
}

const wordSize = unsafe.Sizeof(uintptr(0))

// deepest returns the lowest address known to have been touched, or hi.
func (st *Stack) deepest() uintptr {
	page, err := firstResident(st.lo, st.hi)
	if err != nil {
		// Without mincore all is read. Pages never touched read as zeros from
		// one page that all processes share.
		return st.firstNonZero(st.lo, st.hi)
	}
	if page == st.hi {
		return st.hi
	}
	mark := st.firstNonZero(page, page+pageSize)
	return min(mark, page+pageSize-wordSize)
}

// firstNonZero returns the address of the first word from lo up to hi that is
// not zero, or hi.
//
// It compares strings instead of loading words: AddressSanitizer has marked the bytes between the variables
// of C functions, and would report loads from there.
func (st *Stack) firstNonZero(lo, hi uintptr) uintptr {
	for lo < hi {
		n := min(hi-lo, uintptr(len(zeros)))
		if st.text(lo, n) != zeros[:n] {
			break
		}
		lo += n
	}
	for lo < hi && st.text(lo, wordSize) == zeros[:wordSize] {
		lo += wordSize
	}
	return lo
}

// zeros is what untouched memory is compared with.
var zeros = string(make([]byte, 512))

// text returns the n bytes of the stack at address lo as a string.
func (st *Stack) text(lo, n uintptr) string {
	return unsafe.String((*byte)(unsafe.Add(st.slab.mem, lo-st.slab.base())), n)
}

// bytes returns the n bytes of the stack at address lo.
func (st *Stack) bytes(lo, n uintptr) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(st.slab.mem, lo-st.slab.base())), n)
}

// firstResident returns the first page from lo up to hi that is in memory, or hi.
func firstResident(lo, hi uintptr) (uintptr, error) {
	var resident [256]byte // one byte a page, bit 0: in memory
	for lo < hi {
		pages := min((hi-lo)/pageSize, uintptr(len(resident)))
		_, _, errno := unix.Syscall(unix.SYS_MINCORE, lo, pages*pageSize, uintptr(unsafe.Pointer(&resident[0])))
		if errno != 0 {
			return 0, errno
		}
		for i := range pages {
			if resident[i]&1 != 0 {
				return lo + i*pageSize, nil
			}
		}
		lo += pages * pageSize
	}
	return hi, nil
}
