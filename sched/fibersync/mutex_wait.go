package fibersync

import (
	"time"

	"fiberlab/internal/release"
)

// mutexPatience is how long one tries to get a mutex before it is handed over.
const mutexPatience = time.Millisecond

// mutexHandovers is how often a mutex is handed over before Unlock makes it free again.
const mutexHandovers = 16

// lockOrWait is LockContext where the mutex was not free at once; who holds it comes here, too.
func (m *Mutex) lockOrWait(u until) error {
	m.holder.mustNot("lock")
	if m.take() {
		return nil
	}
	w := newWaiter()
	var err error
	if !m.takeOrQueue(w) {
		err = m.awaitTurn(w, u, time.Time{})
	}
	w.free()
	return err
}

// lockSlow is lockOrWait for Lock. The usual way, by a hand-over, is written out in this one
// function: after a switch the processor may predict each return wrongly.
func (m *Mutex) lockSlow() {
	m.holder.mustNot("lock")
	if m.take() {
		return
	}
	w := newWaiter()
	if !m.takeOrQueue(w) {
		w.awaits((*awaitedMutex)(m))
		for first := w.lent; first || !w.isGranted(); first = false {
			w.party.Park(time.Time{})
		}
		if !m.comesIntoIt(w) && !m.takeAwake() && !m.takeOrRequeue(w, false) {
			_ = m.awaitTurn(w, until{}, time.Now())
		}
	}
	w.free()
}

// awaitTurn is the later part of lockOrWait, for a w that stands in line.
//
// Who is let out of the line has to try like everybody else, and may find that others
// were faster, for it takes a while to get going. Then it goes back to the line's head.
// If the mutex has been taken many times meanwhile, that was good for all but one. If
// only once, whoever has it keeps it for longer than a waiter needs to get going: it
// might as well be handed over, which saves the waiters their attempts.
//
// since is when w first tried in vain, or the zero time.
func (m *Mutex) awaitTurn(w *waiter, u until, since time.Time) error {
	for {
		w.awaits((*awaitedMutex)(m))
		err := w.await(u)
		if err != nil && m.giveUp(w) {
			return err
		}
		if m.comesIntoIt(w) || m.takeAwake() {
			return nil
		}
		if err != nil {
			if m.passOn() {
				return err
			}
			continue
		}
		late := false
		if since.IsZero() {
			since = time.Now()
		} else {
			late = time.Since(since) > mutexPatience
		}
		if m.takeOrRequeue(w, late) {
			return nil
		}
	}
}

// takeOrQueue takes the mutex, if it is free, and returns true, or puts w in line.
func (m *Mutex) takeOrQueue(w *waiter) bool {
	m.guard.Lock()
	for !m.take() {
		s := m.state.Load()
		if s&mutexHeld != 0 && (s&mutexQueued != 0 || m.state.CompareAndSwap(s, s|mutexQueued)) {
			m.line.push(w)
			m.joined(w, s)
			m.guard.Unlock()
			return false
		}
	}
	m.guard.Unlock()
	return true
}

// mutexAwake is the bits about somebody who was woken.
const mutexAwake = mutexWoken | mutexTaken | mutexTwice

// takeAwake is take for who has been woken.
func (m *Mutex) takeAwake() bool {
	for {
		s := m.state.Load()
		if s&mutexHeld != 0 {
			return false
		}
		if m.state.CompareAndSwap(s, s&^mutexAwake|mutexHeld) {
			return true
		}
	}
}

// takeOrRequeue is takeOrQueue for who has been woken. It goes to the head of the line,
// and if it is late, or nobody gained by its being so, the mutex is handed over from now on.
func (m *Mutex) takeOrRequeue(w *waiter, late bool) bool {
	m.guard.Lock()
	defer m.guard.Unlock()
	for !m.takeAwake() {
		s := m.state.Load()
		next := s&^mutexAwake | mutexQueued
		if late || s&mutexTwice == 0 {
			next |= mutexHandovers * mutexHandover
		}
		if s&mutexHeld != 0 && m.state.CompareAndSwap(s, next) {
			w.reset()
			m.line.pushFront(w)
			m.joined(w, next)
			return false
		}
	}
	return true
}

// release makes the mutex free and lets the first in line out, or hands it over. It
// does nothing and returns false if there is no need any more. The caller has the
// mutex, and nobody was woken lately; so nobody changes the state without the guard.
func (m *Mutex) release() bool {
	m.guard.Lock()
	s := m.state.Load()
	if s&mutexQueued == 0 || s&mutexWoken != 0 {
		m.guard.Unlock()
		return false
	}
	w := m.line.pop()
	if s >= mutexHandover {
		s -= mutexHandover
		m.chooses(w, true)
	} else {
		s = s&^mutexHeld | mutexWoken
		m.chooses(w, false)
	}
	release.Store(&m.state, m.trim(s))
	m.guard.Unlock()
	w.grant()
	return true
}

// trim is s without what is about a line, if there is none any more. The guard must be held.
func (m *Mutex) trim(s uint64) uint64 {
	if m.line.empty() {
		s &= (mutexHandover - 1) &^ mutexQueued
	}
	return s
}

// giveUp takes w out of the line, and tells whether it stood there. If it did not,
// giveUp returns when w has been granted.
func (m *Mutex) giveUp(w *waiter) bool {
	m.guard.Lock()
	left := m.line.remove(w)
	for left {
		if s := m.state.Load(); m.state.CompareAndSwap(s, m.trim(s)) {
			break
		}
	}
	m.guard.Unlock()
	if !left {
		_ = w.await(until{})
	}
	return left
}

// passOn has Unlock let out somebody else in the place of the caller, who was. It does
// nothing and returns false if there will be no Unlock, since the mutex is free.
func (m *Mutex) passOn() bool {
	for {
		s := m.state.Load()
		if s&mutexHeld == 0 {
			return false
		}
		if m.state.CompareAndSwap(s, s&^mutexAwake) {
			return true
		}
	}
}
