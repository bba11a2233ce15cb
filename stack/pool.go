package stack

import (
	"fmt"
	"sync"
)

// Pool hands out stacks of one size. Its methods may be called from any number
// of goroutines. A pool that is no longer needed must be closed: the collector
// does not free its mappings.
type Pool struct {
	size      uintptr // usable bytes of a stack
	guardSize uintptr // bytes of the guard below it
	request   Guard
	guard     Guard // the kind request stands for
	maxIdle   int
	clears    bool // Options.ClearOnPut

	mu     sync.Mutex
	closed bool
	inUse  int
	idle   *Stack // a list; the stack put back last comes first, since it may still be cached
	idles  int
	slabs  []*slab
	room   []*slab // slabs with a free stack
	stacks int     // in all slabs
	spare  *slab   // a slab with nothing held, kept so that one stack coming and going maps nothing
}

// NewPool returns an empty pool. It maps nothing. The error is ErrSize, ErrGuard or ErrExhausted.
func NewPool(o Options) (*Pool, error) {
	size, err := o.Usable()
	if err != nil {
		return nil, err
	}
	guardSize, err := o.guardSize()
	if err != nil {
		return nil, err
	}
	guard, err := o.Guard.resolve()
	if err != nil {
		return nil, err
	}
	return &Pool{
		size: uintptr(size), guardSize: guardSize, request: o.Guard, guard: guard, maxIdle: o.maxIdle(),
		clears: o.ClearOnPut,
	}, nil
}

// stride is the number of bytes from one guard to the next.
func (p *Pool) stride() uintptr { return p.guardSize + p.size }

// Get returns a stack with a guard below it. Its bytes are what its last user left, or zero; with ClearOnPut they are
// zero. The error is ErrExhausted, after which the pool is as before, ErrClosed, or with GuardMadvise in locked memory
// ErrGuard.
func (p *Pool) Get() (*Stack, error) {
	p.mu.Lock()
	if st := p.idle; st != nil {
		p.idle, st.next = st.next, nil
		p.idles--
		p.inUse++
		st.state = stateInUse
		p.mu.Unlock()
		return st, nil
	}
	st, err := p.take()
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if st.guarded {
		return st, nil
	}
	if err := p.protect(st); err != nil {
		p.mu.Lock()
		p.give(st)
		p.mu.Unlock()
		return nil, err
	}
	return st, nil
}

// Put takes back a stack that Get returned and that nothing runs on any more.
// The error is ErrForeign, for a stack that is not of this pool, or
// ErrNotInUse, for a stack that was put back before and not handed out since.
func (p *Pool) Put(st *Stack) error {
	if st == nil || st.slab == nil {
		return fmt.Errorf("%w: no stack at all: put back what Get returned", ErrForeign)
	}
	if st.slab.pool != p {
		return fmt.Errorf("%w: %v belongs to another pool: put it back there", ErrForeign, st)
	}
	p.mu.Lock()
	if st.state != stateInUse {
		p.mu.Unlock()
		return fmt.Errorf("%w: %v was put back before: put back each stack once", ErrNotInUse, st)
	}
	if p.clears {
		st.state = stateLeaving
		p.mu.Unlock()
		st.Zero(st.hi)
		p.mu.Lock()
	}
	if p.idles < p.maxIdle {
		st.state = stateIdle
		p.idle, st.next = st, p.idle
		p.idles++
		p.inUse--
		p.mu.Unlock()
		return nil
	}
	st.state = stateLeaving
	p.mu.Unlock()
	st.release()
	p.mu.Lock()
	p.give(st)
	p.mu.Unlock()
	return nil
}

// Trim gives the pages of all idle stacks to the kernel, and unmaps every slab
// none of whose stacks is in use. Get and Put wait for it.
func (p *Pool) Trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.trim()
}

// Close unmaps everything. With stacks still out it changes nothing and returns
// ErrInUse. If the kernel cannot unmap a slab the error is ErrExhausted, the pool stays open, and Close may be
// called again. Closing a closed pool does nothing.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inUse > 0 {
		return fmt.Errorf("%w: %d not put back: put them back, then close again", ErrInUse, p.inUse)
	}
	if err := p.trim(); err != nil {
		return err
	}
	p.closed = true
	return nil
}

// take removes a stack from a slab, mapping a new one if there is no room. The
// stack counts as in use. The caller holds p.mu.
func (p *Pool) take() (*Stack, error) {
	if p.closed {
		return nil, ErrClosed
	}
	if len(p.room) == 0 {
		s, err := mapSlab(p, nextSlabStacks(p.stacks, p.stride()))
		if err != nil {
			return nil, err
		}
		p.slabs = append(p.slabs, s)
		p.stacks += len(s.stacks)
		p.addRoom(s)
	}
	s := p.room[len(p.room)-1]
	if p.spare == s {
		p.spare = nil
	}
	st := s.take()
	s.held++
	if !s.hasRoom() {
		p.removeRoom(s)
	}
	st.state = stateInUse
	p.inUse++
	return st, nil
}

// give undoes take. The caller holds p.mu.
func (p *Pool) give(st *Stack) {
	s := st.slab
	s.give(st)
	s.held--
	p.inUse--
	p.addRoom(s)
	if s.held > 0 {
		return
	}
	if p.spare == nil {
		p.spare = s
		return
	}
	_ = p.drop(s)
}

// trim does the work of Trim. It goes on after an error and returns the first.
// The caller holds p.mu.
func (p *Pool) trim() error {
	for st := p.idle; st != nil; st = st.next {
		st.slab.held--
	}
	for p.idle != nil {
		st := p.idle
		p.idle = st.next
		st.slab.give(st)
		p.addRoom(st.slab)
		if st.slab.held > 0 { // else the whole slab goes
			st.release()
		}
	}
	p.idles = 0
	var first error
	for i := len(p.slabs) - 1; i >= 0; i-- {
		if p.slabs[i].held > 0 {
			continue
		}
		if err := p.drop(p.slabs[i]); err != nil && first == nil {
			first = err
		}
	}
	return first
}
