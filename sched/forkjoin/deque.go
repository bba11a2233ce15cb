package forkjoin

import (
	"sync/atomic"

	"golang.org/x/sys/cpu"

	"fiberlab/internal/release"
)

// deque is the work-stealing deque of Chase and Lev. One strand owns it, and pushes and pops the newest items at the
// bottom, without a lock and nearly without an atomic instruction. All others are thieves, and steal the oldest items
// from the top. The zero value is empty.
//
//	index     0  1  2  3  4  5  6  7      each item gets the next index, which counts on for ever;
//	               ┌──┬──┬──┬──┐          the item of index i lies in slots[i mod len(slots)]
//	               │ A│ B│ C│ D│
//	               └──┴──┴──┴──┘
//	                ↑           ↑
//	               top        bottom
//	          steal: A, top++     push: slots[bottom] = E, bottom++
//	                              pop: bottom--, D
//
// top only grows, and changes by compare-and-swap alone. bottom belongs to the owner. So the owner and a thief
// meet only at the last item:
//
//   - pop stores bottom, then loads top; steal loads top, then bottom. All four are sequentially consistent: either
//     the thief sees that the item is gone, or the owner sees that a thief has come as far as the last item. Otherwise
//     both could take it.
//   - To take an item that the other may take too, each increments top by compare-and-swap. One of them succeeds.
//
// A full array is replaced by one of twice the size, which keeps the indices. Thieves may go on with the old one:
// the owner no longer writes to it, and the items that it had are still in it.
//
// An item may be pushed again only after it has come out.
type deque[T any] struct {
	_      [2]cpu.CacheLinePad
	bottom atomic.Uint64 // the index that the next item gets
	array  atomic.Pointer[dequeArray[T]]
	_      [2]cpu.CacheLinePad // thieves write the next one
	top    atomic.Uint64       // the index of the oldest item
	_      [2]cpu.CacheLinePad
}

// dequeArray is a circular array. Slots without an item are nil, so that the collector can free what is no longer in
// the deque.
type dequeArray[T any] struct {
	slots []atomic.Pointer[T] // a power of two
}

const firstDequeSize = 32

func newDequeArray[T any](size int) *dequeArray[T] {
	return &dequeArray[T]{slots: make([]atomic.Pointer[T], size)}
}

func (a *dequeArray[T]) slot(index uint64) *atomic.Pointer[T] {
	return &a.slots[index&uint64(len(a.slots)-1)]
}

// push adds x, which must not be nil, as the newest item. Only the owner may call it.
//
// Thieves see the item once the processor has written bottom to memory. push does not wait until then: a caller that
// then looks whether a worker has to be woken must put a full fence between the two.
func (d *deque[T]) push(x *T) {
	b, t, a := d.bottom.Load(), d.top.Load(), d.array.Load()
	if a == nil || b-t >= uint64(len(a.slots)) {
		a = d.grow(a, t, b)
	}
	// A thief may still load the slot for an item that has since been stolen. Its compare-and-swap of top will fail.
	release.StorePointer(a.slot(b), x)
	release.Store(&d.bottom, b+1) // after the slot: a thief that sees the index sees the item
}

// grow returns a larger array with the items from t to b, which has taken a's place. a may be nil.
func (d *deque[T]) grow(a *dequeArray[T], t, b uint64) *dequeArray[T] {
	if a == nil {
		a = newDequeArray[T](firstDequeSize)
		d.array.Store(a)
		return a
	}
	larger := newDequeArray[T](2 * len(a.slots))
	for i := t; i != b; i++ {
		larger.slot(i).Store(a.slot(i).Load())
	}
	d.array.Swap(larger) // before the load of top, as in pop
	// Items that were stolen since t was loaded have been copied too. A thief that has incremented top by now may
	// have seen only the old array. All others will see the new one, and clear their slots in it themselves.
	for end := d.top.Load(); t != end; t++ {
		larger.slot(t).Store(nil)
	}
	return larger
}

// pop takes the newest item, or returns nil if there is none. Only the owner may call it.
func (d *deque[T]) pop() *T {
	b, t := d.bottom.Load()-1, d.top.Load()
	if t == b+1 {
		return nil // thieves bring nothing
	}
	if t == b {
		return d.popLast(b)
	}
	// Before top is loaded again: from here on, a thief that comes sees that the item is gone. A Swap is the same
	// instruction as a Store on amd64, and on arm64 it keeps the order even in an emulator, qemu, which lets a load
	// pass a Store.
	d.bottom.Swap(b)
	if t = d.top.Load(); int64(b-t) > 0 {
		return d.clear(b)
	}
	// Thieves have taken the others. A thief that has seen the old bottom may be about to take this item too.
	var x *T
	if t == b {
		x = d.popLast(b)
	}
	release.Store(&d.bottom, b+1) // where top is now
	return x
}

// popLast is pop where the item of index b was the only one when the owner looked. It takes the item as a thief does.
func (d *deque[T]) popLast(b uint64) *T {
	if !d.top.CompareAndSwap(b, b+1) {
		return nil
	}
	return d.clear(b)
}

// clear empties the slot of an item that only the owner can take now.
func (d *deque[T]) clear(index uint64) *T {
	slot := d.array.Load().slot(index)
	x := slot.Load()
	release.StorePointer(slot, nil)
	return x
}

// steal takes the oldest item, or returns nil if there is none. again says that another thief or the owner was quicker,
// and that there may be more. Any thread may call it.
func (d *deque[T]) steal() (x *T, again bool) {
	t := d.top.Load()
	// after top: a pop that saw a smaller top, and took this item as not the last, has stored bottom before
	b := d.bottom.Load()
	if int64(b-t) <= 0 { // pop lets bottom be one less than top for a moment
		return nil, false
	}
	a := d.array.Load()  // after bottom: so it has the index
	x = a.slot(t).Load() // before top is incremented: then the owner may use the slot for another item
	if !d.top.CompareAndSwap(t, t+1) {
		return nil, true
	}
	a.slot(t).CompareAndSwap(x, nil) // unless the owner has done so
	if now := d.array.Load(); now != a {
		now.slot(t).CompareAndSwap(x, nil) // x may have been copied
	}
	return x, false
}

// empty reports whether there is nothing to steal just now. Any thread may call it.
func (d *deque[T]) empty() bool {
	t := d.top.Load()
	return int64(d.bottom.Load()-t) <= 0
}
