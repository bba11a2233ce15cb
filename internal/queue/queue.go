package queue

import "sync/atomic"

// Queue is a first-in, first-out queue of blocks, each of which points to the next. The zero value is empty. It has no
// lock.
//
// To grow it takes one block more and moves nothing. So no push takes long, and the collector never meets a large piece
// of memory that nothing has been written to yet. It keeps its blocks, and fills them again.
type Queue[T any] struct {
	count int
	back  Back[T]
	front Front[T]
}

// Empty reports whether there is nothing to pop.
func (q *Queue[T]) Empty() bool { return q.count == 0 }

// Len is how many values there are.
func (q *Queue[T]) Len() int { return q.count }

// Push adds a value behind the others.
func (q *Queue[T]) Push(v T) {
	q.back.Push(v, &q.front)
	q.count++
}

// Pop takes the oldest; the queue must not be empty.
func (q *Queue[T]) Pop() T {
	q.count--
	return q.front.Pop()
}

// Peek is the oldest, which stays; the queue must not be empty.
func (q *Queue[T]) Peek() T { return q.front.Peek() }

// Swap exchanges the values of two queues.
func (q *Queue[T]) Swap(with *Queue[T]) {
	q.count, with.count = with.count, q.count
	q.back, with.back = with.back, q.back
	q.front.block, with.front.block = with.front.block, q.front.block
	q.front.popped, with.front.popped = with.front.popped, q.front.popped
}

// Back is the end of a queue to which values are pushed, for a caller that counts them itself. One thread may push
// while another one pops. A caller pops, or peeks, only if an atomic load has shown it a count that was stored after
// the push. The zero values of Back and Front are the ends of an empty queue.
type Back[T any] struct {
	block  *block[T] // where the next value goes
	filled int       // how many values it has had
	spare  *block[T] // blocks to come after it
}

// Front is the end from which values are popped.
type Front[T any] struct {
	block   *block[T]                // where the oldest value lies; if all of its values are popped, in the next one
	popped  int                      // how many values it has lost
	emptied atomic.Pointer[block[T]] // blocks for Back to fill again
}

// block has values for one queue. With 16 bytes each it fills a page.
type block[T any] struct {
	values [blockSize]T
	next   *block[T]
}

const blockSize = 255

// Push adds a value behind the others of the queue that has that front.
func (b *Back[T]) Push(v T, front *Front[T]) {
	if b.block == nil || b.filled == blockSize {
		b.addBlock(front)
	}
	b.block.values[b.filled] = v
	b.filled++
}

// addBlock puts a block behind the last one, which is full, or makes the first one.
func (b *Back[T]) addBlock(front *Front[T]) {
	if b.spare == nil {
		b.spare = front.emptied.Swap(nil)
	}
	added := b.spare
	if added == nil {
		added = new(block[T])
	}
	b.spare, added.next = added.next, nil
	if b.block == nil {
		front.block = added
	} else {
		b.block.next = added
	}
	b.block, b.filled = added, 0
}

// Pop takes the oldest value.
func (f *Front[T]) Pop() (v T) {
	at := f.oldest()
	v, *at = *at, v
	f.popped++
	return v
}

// Peek is the oldest value, which stays.
func (f *Front[T]) Peek() T { return *f.oldest() }

// oldest returns where the oldest value lies.
func (f *Front[T]) oldest() *T {
	if f.popped == blockSize {
		f.removeBlock()
	}
	return &f.block.values[f.popped]
}

// removeBlock takes the first block away, whose values have all been popped, and leaves it to the other end.
func (f *Front[T]) removeBlock() {
	b := f.block
	f.block, f.popped = b.next, 0
	for {
		b.next = f.emptied.Load()
		if f.emptied.CompareAndSwap(b.next, b) {
			return
		}
	}
}
