package fibersync

import "fiberlab/internal/spinlock"

// UnboundedPool lends items, and makes one if none is there, marl's UnboundedPool. So it
// has as many items as were ever borrowed at the same time, and nobody waits. Unlike
// sync.Pool it forgets none. Make one by NewUnboundedPool. It must not be copied.
type UnboundedPool[T any] struct {
	items Items[T]

	guard spinlock.Lock
	lying stack[T]
	free  int // of lying
}

// NewUnboundedPool makes a pool without items.
func NewUnboundedPool[T any](items Items[T]) *UnboundedPool[T] {
	return &UnboundedPool[T]{items: items}
}

// Borrow takes an item, the one that came back last, or makes one. It blocks no longer than
// Items.Make does, which runs on the caller, under no lock.
func (p *UnboundedPool[T]) Borrow() Loan[T] {
	loan, ok := p.TryBorrow()
	if !ok {
		i := &item[T]{value: p.items.fresh(), home: p, reset: p.items.Reset}
		loan = i.lend()
	}
	return loan
}

// TryBorrow takes an item if one lies there, and tells whether it did. It makes none and
// does not block.
func (p *UnboundedPool[T]) TryBorrow() (Loan[T], bool) {
	p.guard.Lock()
	i := p.lying.pop()
	if i != nil {
		p.free--
	}
	p.guard.Unlock()
	if i == nil {
		return Loan[T]{}, false
	}
	return i.lend(), true
}

// Free returns how many items lay there at some moment during the call.
func (p *UnboundedPool[T]) Free() int {
	p.guard.Lock()
	defer p.guard.Unlock()
	return p.free
}

func (p *UnboundedPool[T]) takeBack(i *item[T]) {
	p.guard.Lock()
	p.lying.push(i)
	p.free++
	p.guard.Unlock()
}
