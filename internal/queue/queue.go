package queue

// Queue is a first-in, first-out queue of blocks, each of which points to the next.
// The zero value is empty. It has no lock.
//
// To grow it takes one block more and moves nothing. So no push takes long, and the collector never meets a large piece
// of memory that nothing has been written to yet. It keeps its blocks. The block that was emptied last is filled next,
// since it is still in the processor's cache.
type Queue[T any] struct {
	count      int
	head, tail *block[T] // the oldest value is in head, the next one goes to tail
	first      int       // where the oldest lies in head
	room       int       // how many values tail can still take
	spare      *block[T] // those without values
}

// block has values for one queue. With 16 bytes each it fills a page.
type block[T any] struct {
	values [blockSize]T
	next   *block[T]
}

const blockSize = 255

// Empty reports whether there is nothing to pop.
func (q *Queue[T]) Empty() bool { return q.count == 0 }

// Len is how many values there are.
func (q *Queue[T]) Len() int { return q.count }

// Push adds a value behind the others.
func (q *Queue[T]) Push(v T) {
	if q.room == 0 {
		q.addBlock()
	}
	q.tail.values[blockSize-q.room] = v
	q.room--
	q.count++
}

// Pop takes the oldest; the queue must not be empty.
func (q *Queue[T]) Pop() T {
	var none T
	v := q.head.values[q.first]
	q.head.values[q.first] = none
	q.first++
	q.count--
	if q.first == blockSize {
		q.removeBlock()
	}
	return v
}

// Peek is the oldest, which stays; the queue must not be empty.
func (q *Queue[T]) Peek() T { return q.head.values[q.first] }

// addBlock puts a block behind the last one, which is full.
func (q *Queue[T]) addBlock() {
	b := q.spare
	if b == nil {
		b = new(block[T])
	} else {
		q.spare, b.next = b.next, nil
	}
	if q.tail == nil {
		q.head = b
	} else {
		q.tail.next = b
	}
	q.tail, q.room = b, blockSize
}

// removeBlock takes the first block away, whose values have all been popped.
func (q *Queue[T]) removeBlock() {
	b := q.head
	q.head, q.first = b.next, 0
	if q.head == nil {
		q.tail = nil
	}
	b.next, q.spare = q.spare, b
}

// MoveTo moves the n oldest to the end of another queue.
func (q *Queue[T]) MoveTo(to *Queue[T], n int) {
	if to.Empty() && n == q.count {
		*q, *to = *to, *q
		return
	}
	for range n {
		to.Push(q.Pop())
	}
}
