package queue

import "sync/atomic"

// Mailbox is where threads leave messages for one thread, its receiver. It is a list without a lock. Any thread puts a
// message in front, and the receiver takes the whole list: no message is taken out of the middle, and none is lost. The
// zero value is empty and open.
type Mailbox[T any] struct {
	head atomic.Pointer[Message[T]] // the latest; &end if the mailbox is closed
	end  Message[T]
}

// Message is one entry of a Mailbox. Once Put has accepted it, and until the receiver has called Next, it belongs to
// the mailbox.
type Message[T any] struct {
	next  *Message[T] // the one before it; in a list that was taken, the one after it
	Value T
}

// Put adds a message. A closed mailbox refuses it, and Put returns false; but if always is set, the message opens it.
// The receiver has to be woken afterwards. Any thread may call Put; it does not block.
func (b *Mailbox[T]) Put(m *Message[T], always bool) bool {
	for {
		head := b.head.Load()
		m.next = head
		if head == &b.end {
			m.next = nil
			if !always {
				return false
			}
		}
		if b.head.CompareAndSwap(head, m) {
			return true
		}
	}
}

// Empty reports whether there is no message. Any thread may call it, and Closed.
func (b *Mailbox[T]) Empty() bool {
	head := b.head.Load()
	return head == nil || head == &b.end
}

// Closed reports whether the mailbox refuses messages.
func (b *Mailbox[T]) Closed() bool { return b.head.Load() == &b.end }

// Take takes all messages, and returns the oldest, or nil if there is none. Next leads to the others. Only the receiver
// may call it.
func (b *Mailbox[T]) Take() *Message[T] {
	if b.Empty() {
		return nil
	}
	return oldest(b.head.Swap(nil))
}

// TakeLast is Take that closes the mailbox.
func (b *Mailbox[T]) TakeLast() *Message[T] {
	latest := b.head.Swap(&b.end)
	if latest == &b.end {
		return nil
	}
	return oldest(latest)
}

// oldest turns a list round that begins with the latest message.
func oldest[T any](latest *Message[T]) (first *Message[T]) {
	for m := latest; m != nil; {
		m, m.next, first = m.next, first, m
	}
	return first
}

// Next returns the message behind m, which Take has returned, or nil. Afterwards m may be put again.
func (m *Message[T]) Next() *Message[T] {
	next := m.next
	m.next = nil
	return next
}

// Close closes the mailbox, unless there are messages, and reports whether it is closed. Any thread may call Close and
// Open.
func (b *Mailbox[T]) Close() bool { return b.head.CompareAndSwap(nil, &b.end) || b.Closed() }

// Open has a closed mailbox accept messages again.
func (b *Mailbox[T]) Open() { b.head.CompareAndSwap(&b.end, nil) }
