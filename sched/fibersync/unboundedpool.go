package fibersync

import "fiberlab/internal/spinlock"

// UnboundedPool lends items, and makes one if none is free, marl's UnboundedPool. So it has as
// many items as were ever borrowed at the same time, and borrowers never wait. Unlike sync.Pool
// it forgets no item. Make one by NewUnboundedPool. It must not be copied.
type UnboundedPool[T any] struct {
	items Items[T]

	mu        spinlock.Lock
	idle      stack[T]
	idleCount int
}

// NewUnboundedPool returns a pool without items.
func NewUnboundedPool[T any](items Items[T]) *UnboundedPool[T] {
	return &UnboundedPool[T]{items: items}
}

// Borrow takes the item that came back last, or makes one. It blocks no longer than
// Items.Make does, which runs on the caller with no lock held.
func (p *UnboundedPool[T]) Borrow() Loan[T] {
	loan, ok := p.TryBorrow()
	if !ok {
		i := &item[T]{value: p.items.fresh(), pool: p, reset: p.items.Reset}
		loan = i.lend()
	}
	return loan
}

// TryBorrow takes an item if one is free, and reports whether it did. It makes none and does not
// block.
func (p *UnboundedPool[T]) TryBorrow() (Loan[T], bool) {
	p.mu.Lock()
	i := p.idle.pop()
	if i != nil {
		p.idleCount--
	}
	p.mu.Unlock()
	if i == nil {
		return Loan[T]{}, false
	}
	return i.lend(), true
}

// Free returns how many items were free at some moment during the call.
func (p *UnboundedPool[T]) Free() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.idleCount
}

func (p *UnboundedPool[T]) takeBack(i *item[T]) {
	p.mu.Lock()
	p.idle.push(i)
	p.idleCount++
	p.mu.Unlock()
}
