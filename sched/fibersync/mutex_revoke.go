package fibersync

import (
	"time"

	"fiberlab/sched/park"
)

// A mutex chooses a waiter by waking it or by handing the mutex off to it. The chosen waiter may
// be a fiber whose worker is busy for as long as another task computes. Until then the others
// would wait for a mutex that is not in use. So when waiters on other threads could run at once, a
// timer revokes the choice after a while, and the mutex chooses one of those.
//
// While all waiters have been fibers of one thread, a hand-off is final: that saves one atomic operation in each. So
// the first waiter from another thread may wait once until the worker has time.

// chosenWaiter is the state of that. The mutex's mu guards it.
type chosenWaiter struct {
	thread  any  // of the first waiter that was ever in the queue
	several bool // waiters of other threads have been in the queue

	waiter    *waiter // the last one chosen
	on        any     // its thread
	revocable bool    // the mutex was handed off to it, and it has not accepted yet
	timed     bool    // a timer will call revoke
}

// mutexRevocable is the tag of a waiter that has to accept the mutex before it has it.
const mutexRevocable = 2 * mutexHandOff

// mostDoublings bounds the time that a mutex waits for a waiter that has missed it again and
// again. The time doubles with each miss, so that even a waiter whose worker is mostly busy gets the
// mutex in the end.
const mostDoublings = 10

// noteQueued is called when w has been put in the queue, in the state s. The caller holds mu.
func (m *Mutex) noteQueued(w *waiter, s uint64) {
	c := &m.chosen
	if !c.several {
		thread := park.Thread(w.parker)
		if c.thread == nil {
			c.thread = thread
		}
		c.several = thread != c.thread
	}
	if c.several && (c.revocable || s&mutexWoken != 0) {
		m.armRevoke()
	}
}

// choose records that w, which has been taken out of the queue, is woken, or gets the mutex if
// handOff is set. The caller holds mu.
func (m *Mutex) choose(w *waiter, handOff bool) {
	c := &m.chosen
	c.waiter, c.on, c.revocable = w, c.thread, false
	w.tag = mutexWoken
	if handOff {
		w.tag = mutexHandOff
	}
	if c.several {
		c.on = park.Thread(w.parker)
		if c.revocable = handOff; handOff {
			w.tag = mutexRevocable
		}
		m.armRevoke()
	}
}

// armRevoke starts the timer if the chosen waiter may keep others waiting. The Go runtime finds a
// thread for a goroutine, so a goroutine needs no timer. The caller holds mu.
func (m *Mutex) armRevoke() {
	c := &m.chosen
	if c.timed || c.waiter == nil || m.waiters.empty() || c.on == park.AnyThread() {
		return
	}
	limit := mutexBargingLimit
	if c.revocable {
		limit <<= min(c.waiter.missed, mostDoublings)
	}
	c.timed = true
	chosen := c.waiter
	time.AfterFunc(limit, func() { m.revoke(chosen) })
}

// accept reports whether w, which has been handed off, has got the mutex by that.
func (m *Mutex) accept(w *waiter) bool {
	if w.tag != mutexRevocable {
		return w.tag == mutexHandOff
	}
	m.mu.Lock()
	c := &m.chosen
	mine := c.revocable && c.waiter == w
	if mine {
		c.revocable, c.waiter = false, nil
	}
	m.mu.Unlock()
	return mine
}

// revoke chooses another waiter if w, which was chosen some time ago, has not run since. If the
// mutex has chosen another one since, that one gets its full time.
func (m *Mutex) revoke(w *waiter) {
	m.mu.Lock()
	c := &m.chosen
	c.timed = false
	if c.waiter != w {
		m.armRevoke()
		m.mu.Unlock()
		return
	}
	next := m.pickOther()
	if next == nil || !c.revocable && m.state.Load()&mutexWoken == 0 {
		m.mu.Unlock()
		return
	}
	m.waiters.remove(next)
	if c.revocable {
		w.missed++
		m.choose(next, true)
		for s := m.state.Load(); !m.state.CompareAndSwap(s, m.trim(s)); s = m.state.Load() {
		}
	} else if !m.wakeToo(next) {
		next = nil
	}
	m.mu.Unlock()
	if next != nil {
		next.handOff()
	}
}

// wakeToo has w, which has been taken out of the queue, woken beside the waiter that has not run, and
// returns true. If the mutex is held, it puts w back in front for Unlock to wake, and returns
// false. The caller holds mu.
func (m *Mutex) wakeToo(w *waiter) bool {
	for {
		s := m.state.Load()
		if s&mutexHeld == 0 {
			if m.state.CompareAndSwap(s, m.trim(s)&^mutexWokenBits|mutexWoken) {
				m.choose(w, false)
				return true
			}
		} else if m.state.CompareAndSwap(s, s&^mutexWokenBits) {
			m.waiters.pushFront(w)
			return false
		}
	}
}

// pickOther returns the waiter that most likely can run at once, or nil if all need the thread of the
// chosen one. It prefers the first goroutine in the queue, then the first fiber that may migrate,
// then the first fiber of another thread. The caller holds mu.
func (m *Mutex) pickOther() (best *waiter) {
	migrates := false
	for w := m.waiters.first; w != nil; w = w.next {
		thread := park.Thread(w.parker)
		switch {
		case thread == park.AnyThread():
			return w
		case thread == m.chosen.on:
		case park.Migrates(thread):
			if !migrates {
				best, migrates = w, true
			}
		case best == nil:
			best = w
		}
	}
	return best
}
