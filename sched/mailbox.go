package sched

import "sync/atomic"

// mailbox is where other threads leave word for a worker: a fiber of it that is ready, or a task that
// it alone may begin. It is a lock-free list. Any thread may put a letter in front of it, and the worker
// takes the whole list; so no letter is ever taken out of the middle, and none is lost.
type mailbox struct {
	head  atomic.Pointer[letter] // the latest
	tasks atomic.Int64           // how many letters have tasks, and a moment longer: letters that are about to be put or are being read count too
}

// letter is one entry of a mailbox.
type letter struct {
	next  *letter // the one before it
	fiber *Fiber  // ready; or nil
	task  job     // to begin, if there is no fiber
}

// closed stands in a mailbox that takes no more tasks.
var closed = new(letter)

// putTask is put of a task.
func (m *mailbox) putTask(t job) bool {
	m.tasks.Add(1)
	if m.put(&letter{task: t}) {
		return true
	}
	m.tasks.Add(-1)
	return false
}

// put leaves a letter, which the sender must not touch again, or tells that the mailbox is closed for tasks. A fiber
// that is ready always finds room. The worker has to be woken afterwards. It does not block.
func (m *mailbox) put(l *letter) bool {
	for {
		head := m.head.Load()
		l.next = head
		if head == closed {
			if l.fiber == nil {
				return false
			}
			l.next = nil
		}
		if m.head.CompareAndSwap(head, l) {
			return true
		}
	}
}

// empty tells whether there is no letter.
func (m *mailbox) empty() bool {
	head := m.head.Load()
	return head == nil || head == closed
}

// take returns all letters, the oldest first, linked by next. Only the worker may call it.
func (m *mailbox) take() *letter {
	if m.empty() {
		return nil
	}
	var oldest *letter
	for l := m.head.Swap(nil); l != nil; {
		l, l.next, oldest = l.next, oldest, l
	}
	return oldest
}

// close makes put refuse tasks from now on, unless there are letters. It tells whether it did.
func (m *mailbox) close() bool {
	return m.head.CompareAndSwap(nil, closed) || m.head.Load() == closed
}

// reopen takes close back.
func (m *mailbox) reopen() { m.head.CompareAndSwap(closed, nil) }
