package fibersync

import (
	"time"

	"fiberlab/sched/park"
)

// absent is about the one who was let out of a mutex's line, or handed the mutex. If that is a fiber,
// its worker may be busy for as long as a task computes. Others who stand in line sleep
// meanwhile, before a mutex that nobody uses. So when they are on other threads, a timer
// looks after them (review). The guard of the mutex guards it.
type absent struct {
	thread  any  // of the first who has ever stood in line
	several bool // others have stood there, of other threads

	waiter *waiter // who was chosen last
	on     any     // its thread
	handed bool    // it has been handed the mutex, and has not come; it may be revoked
	timed  bool    // a timer will call review
}

// mutexOffered is the note of who has been handed a mutex that may be revoked.
const mutexOffered = 2 * mutexHandover

// mostDoublings bounds how long a mutex waits for one who has missed it again and again, and with it all
// others: that one's worker may be busy whenever it is chosen, and it must get the mutex some day.
const mostDoublings = 10

// joined is called when w has been put in line, and the state is s. The guard must be held.
func (m *Mutex) joined(w *waiter, s uint64) {
	a := &m.absent
	if !a.several {
		thread := park.Thread(w.party)
		if a.thread == nil {
			a.thread = thread
		}
		a.several = thread != a.thread
	}
	if a.several && (a.handed || s&mutexWoken != 0) {
		m.lookAfter()
	}
}

// chooses notes that w, which has been taken out of the line, is let out or handed the mutex. The
// guard must be held.
func (m *Mutex) chooses(w *waiter, handed bool) {
	a := &m.absent
	a.waiter, a.on, a.handed = w, a.thread, false
	w.note = mutexWoken
	if handed {
		w.note = mutexHandover
	}
	if a.several {
		a.on = park.Thread(w.party)
		if a.handed = handed; handed {
			w.note = mutexOffered
		}
		m.lookAfter()
	}
}

// lookAfter sees to it that review is called, if who was chosen may keep others of several threads
// waiting. The guard must be held.
func (m *Mutex) lookAfter() {
	a := &m.absent
	if a.timed || a.waiter == nil || m.line.empty() || a.on == park.AnyThread() {
		return
	}
	patience := mutexPatience
	if a.handed {
		patience <<= min(a.waiter.missed, mostDoublings)
	}
	a.timed = true
	chosen := a.waiter
	time.AfterFunc(patience, func() { m.review(chosen) })
}

// comesIntoIt tells whether w, which has been granted, has been handed the mutex: and has it.
func (m *Mutex) comesIntoIt(w *waiter) bool {
	if w.note != mutexOffered {
		return w.note == mutexHandover
	}
	m.guard.Lock()
	a := &m.absent
	mine := a.handed && a.waiter == w
	if mine {
		a.handed, a.waiter = false, nil
	}
	m.guard.Unlock()
	return mine
}

// review lets another one out of the line, or hands it the mutex, if w, who was chosen some time
// ago, has not come. Who was chosen later gets time of its own.
func (m *Mutex) review(w *waiter) {
	m.guard.Lock()
	a := &m.absent
	a.timed = false
	if a.waiter != w {
		m.lookAfter()
		m.guard.Unlock()
		return
	}
	next := m.elsewhere()
	if next == nil || !a.handed && m.state.Load()&mutexWoken == 0 {
		m.guard.Unlock()
		return
	}
	m.line.remove(next)
	if a.handed {
		w.missed++
		m.chooses(next, true)
		for s := m.state.Load(); !m.state.CompareAndSwap(s, m.trim(s)); s = m.state.Load() {
		}
	} else if !m.letOutToo(next) {
		next = nil
	}
	m.guard.Unlock()
	if next != nil {
		next.grant()
	}
}

// letOutToo lets w out, which has been taken out of the line, beside the one who has not come, and
// returns true. If somebody has the mutex, it puts w first in line again, to be let out by Unlock,
// and returns false. The guard must be held.
func (m *Mutex) letOutToo(w *waiter) bool {
	for {
		s := m.state.Load()
		if s&mutexHeld == 0 {
			if m.state.CompareAndSwap(s, m.trim(s)&^mutexAwake|mutexWoken) {
				m.chooses(w, false)
				return true
			}
		} else if m.state.CompareAndSwap(s, s&^mutexAwake) {
			m.line.pushFront(w)
			return false
		}
	}
}

// elsewhere is the first in line that need not wait for the thread of the one who has not come: if
// there is one, a party that waits for no thread. The guard must be held.
func (m *Mutex) elsewhere() (first *waiter) {
	for w := m.line.first; w != nil; w = w.next {
		thread := park.Thread(w.party)
		if thread == park.AnyThread() {
			return w
		}
		if first == nil && thread != m.absent.on {
			first = w
		}
	}
	return first
}
