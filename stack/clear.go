package stack

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Clear gives the pages of the stack back to the kernel: its bytes are zero again and
// HighWater starts anew. Nothing may run on it. The error is ErrNotInUse,
// the kernel's if the memory is locked, or comes from the function that the holder
// gave to AskBeforeClear.
func (st *Stack) Clear() error {
	if st.slab == nil {
		return fmt.Errorf("%w: it is not from a pool: clear what Get returned", ErrNotInUse)
	}
	p := st.slab.pool
	p.mu.Lock()
	ask := st.ask
	p.mu.Unlock()
	if ask != nil {
		return ask(st.clear)
	}
	return st.clear()
}

func (st *Stack) clear() error {
	p := st.slab.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if st.state != stateInUse {
		return fmt.Errorf("%w: %v was put back before: clear it while you hold it", ErrNotInUse, st)
	}
	if err := st.release(); err != nil {
		return fmt.Errorf(
			"stack: the pages of %v cannot be released: do not lock future mappings (mlockall): %w", st, err,
		)
	}
	return nil
}

// AskBeforeClear has Clear call ask instead of doing its work, until the stack is put
// back. ask calls clear, or returns the reason why the stack must stay as it is. It is for a
// holder that shows the stack to callers who cannot know when something runs on it.
func (st *Stack) AskBeforeClear(ask func(clear func() error) error) {
	p := st.slab.pool
	p.mu.Lock()
	st.ask = ask
	p.mu.Unlock()
}

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
