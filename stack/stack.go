package stack

import "fmt"

// Stack is one stack. It belongs to the caller of Pool.Get, its holder, until it is
// put back; from then on the pool may hand the same *Stack to another caller.
//
// Lo, Hi, Top, Size and Guard never change, and any goroutine may call them.
type Stack struct {
	slab *slab
	next *Stack // in the pool's idle list or in its slab's free list
	lo   uintptr
	hi   uintptr
	top  uintptr

	state   state // guarded by the pool's mutex
	guarded bool
}

// state says where a stack is.
type state uint8

const (
	stateFree    state = iota // in its slab, without pages
	stateIdle                 // in the pool's idle list, with its pages
	stateInUse                // handed out by Get
	stateLeaving              // put back, its pages are being released
)

// Lo returns the lowest usable address.
func (st *Stack) Lo() uintptr { return st.lo }

// Hi returns the address after the highest usable byte.
func (st *Stack) Hi() uintptr { return st.hi }

// Top returns the address a fiber starts at: Hi minus a stagger below 2048
// bytes that differs between neighbours. It is a multiple of 64.
func (st *Stack) Top() uintptr { return st.top }

// Size returns the number of bytes from Lo to Hi.
func (st *Stack) Size() int { return int(st.hi - st.lo) }

// Guard returns the bounds of the guard, which ends at Lo. A read or write from
// lo up to, not including, hi raises SIGSEGV.
func (st *Stack) Guard() (lo, hi uintptr) {
	if st.slab == nil {
		return 0, 0
	}
	return st.lo - st.slab.pool.guardSize, st.lo
}

// String names the stack by its usable addresses.
func (st *Stack) String() string {
	return fmt.Sprintf("stack [%#x, %#x)", st.lo, st.hi)
}
