package sched

// queue is a first-in, first-out queue in a ring that grows. The zero value is
// empty. It has no lock of its own.
type queue[T any] struct {
	ring  []T // its length is a power of two
	head  int // where the oldest lies
	count int
}

const smallestRing = 16

func (q *queue[T]) empty() bool { return q.count == 0 }

func (q *queue[T]) push(v T) {
	if q.count == len(q.ring) {
		q.grow()
	}
	q.ring[(q.head+q.count)&(len(q.ring)-1)] = v
	q.count++
}

// pop takes the oldest; the queue must not be empty.
func (q *queue[T]) pop() T {
	var none T
	v := q.ring[q.head]
	q.ring[q.head] = none
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.count--
	return v
}

// first is the oldest, which stays; the queue must not be empty.
func (q *queue[T]) first() T { return q.ring[q.head] }

// grow doubles the ring and moves what it holds to its beginning.
func (q *queue[T]) grow() {
	ring := make([]T, max(smallestRing, 2*len(q.ring)))
	n := copy(ring, q.ring[q.head:])
	copy(ring[n:], q.ring[:q.head])
	q.ring, q.head = ring, 0
}

// moveTo moves the n oldest to the end of another queue.
func (q *queue[T]) moveTo(to *queue[T], n int) {
	if to.empty() && n == q.count {
		*q, *to = *to, *q
		return
	}
	for range n {
		to.push(q.pop())
	}
}
