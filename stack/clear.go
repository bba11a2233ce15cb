package stack

import "golang.org/x/sys/unix"

// warmPages is how many pages of a stack, from its Hi on, Zero leaves in memory.
const warmPages = 16

// Zero sets all bytes of the stack below limit, an address from Lo to Hi, to zero. Only the holder
// may call it, and nothing may run on that part. It costs two system calls, some 1 to 2 us, and 0.1 us
// for each page that was used, of which the highest 16 stay in memory.
func (st *Stack) Zero(limit uintptr) {
	low := st.lo
	if st.hi-st.lo > warmPages*pageSize {
		low = st.hi - warmPages*pageSize
	}
	low = min(low, limit&^(pageSize-1))
	if page, err := firstResident(low, (limit+pageSize-1)&^(pageSize-1)); err == nil {
		low = min(page, limit&^(pageSize-1))
	}
	// What lies below is not needed in memory, was never touched, or is in swap.
	below := low - st.lo
	if below > 0 && madvise(st.lo, below, unix.MADV_DONTNEED) != nil {
		low = st.lo // locked memory cannot be given back, and is never in swap
	}
	clear(st.bytes(low, limit-low))
}
