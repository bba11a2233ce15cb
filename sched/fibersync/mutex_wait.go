package fibersync

import (
	"time"

	"fiberlab/internal/release"
)

// mutexBargingLimit is how long a waiter competes for a mutex with callers that barge in; after
// that the mutex is handed off.
const mutexBargingLimit = time.Millisecond

// mutexHandOffs is how many times in a row a mutex is handed off before Unlock frees it again.
const mutexHandOffs = 16

// lockOrWait is LockContext for a mutex that was not free at the first attempt. A caller that
// holds the mutex also comes here.
func (m *Mutex) lockOrWait(u until) error {
	m.holder.mustNot("lock")
	if m.take() {
		return nil
	}
	w := newWaiter(nil)
	var err error
	if !m.takeOrQueue(w) {
		err = m.awaitTurn(w, u, time.Time{})
	}
	w.free()
	return err
}

// lockSlow is lockOrWait for Lock. The usual path, by a hand-off, is written out in this one
// function: after a switch the processor may mispredict each return (docs/primitives.md).
func (m *Mutex) lockSlow() {
	m.holder.mustNot("lock")
	if m.take() {
		return
	}
	w := newWaiter(nil)
	if !m.takeOrQueue(w) {
		w.what = (*awaitedMutex)(m)
		for first := w.lent; first || !w.isHandedOff(); first = false {
			w.announce()
			w.parker.Park(time.Time{})
		}
		if !m.accept(w) && !m.takeAwake() && !m.takeOrRequeue(w, false) {
			_ = m.awaitTurn(w, until{}, time.Now())
		}
	}
	w.free()
}

// awaitTurn is the later part of lockOrWait, for a w that is in the queue.
//
// A waiter that is woken competes with all other callers. It takes a while to start, so others
// may be faster; then it goes back to the front of the queue. If the mutex was taken several
// times before the waiter ran, the barging paid: all but one went on without a switch. If it
// was taken only once, its holder keeps it for longer than a waiter needs to start; then
// handing it off costs nothing and saves the attempts.
//
// since is the time of w's first failed attempt, or the zero time.
func (m *Mutex) awaitTurn(w *waiter, u until, since time.Time) error {
	w.what = (*awaitedMutex)(m)
	for {
		err := w.await(u)
		if err != nil && m.giveUp(w) {
			return err
		}
		if m.accept(w) || m.takeAwake() {
			return nil
		}
		if err != nil {
			if m.declineWake() {
				return err
			}
			continue
		}
		late := false
		if since.IsZero() {
			since = time.Now()
		} else {
			late = time.Since(since) > mutexBargingLimit
		}
		if m.takeOrRequeue(w, late) {
			return nil
		}
	}
}

// takeOrQueue takes the mutex if it is free and returns true, or puts w in the queue.
func (m *Mutex) takeOrQueue(w *waiter) bool {
	m.mu.Lock()
	for !m.take() {
		s := m.state.Load()
		if s&mutexHeld != 0 && (s&mutexQueued != 0 || m.state.CompareAndSwap(s, s|mutexQueued)) {
			m.waiters.push(w)
			m.noteQueued(w, s)
			m.mu.Unlock()
			return false
		}
	}
	m.mu.Unlock()
	return true
}

// mutexWokenBits are the bits about a waiter that was woken.
const mutexWokenBits = mutexWoken | mutexTaken | mutexTwice

// takeAwake is take for a waiter that was woken.
func (m *Mutex) takeAwake() bool {
	for {
		s := m.state.Load()
		if s&mutexHeld != 0 {
			return false
		}
		if m.state.CompareAndSwap(s, s&^mutexWokenBits|mutexHeld) {
			return true
		}
	}
}

// takeOrRequeue is takeOrQueue for a waiter that was woken: it goes to the front of the queue.
// If it is late, or barging did not pay, the mutex is handed off from now on.
func (m *Mutex) takeOrRequeue(w *waiter, late bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for !m.takeAwake() {
		s := m.state.Load()
		next := s&^mutexWokenBits | mutexQueued
		if late || s&mutexTwice == 0 {
			next = next&(mutexHandOff-1) | mutexHandOffs*mutexHandOff
		}
		if s&mutexHeld != 0 && m.state.CompareAndSwap(s, next) {
			w.reset()
			m.waiters.pushFront(w)
			m.noteQueued(w, next)
			return false
		}
	}
	return true
}

// wakeOrHandOff is Unlock with waiters: it frees the mutex and wakes the first of them, or
// hands the mutex off to it. If that is no longer needed, it does nothing and returns false.
// The caller holds the mutex and mutexWoken is not set. A waiter that revoke has passed over may be awake, but it
// changes no bit now. So the state stays the same while mu is held.
func (m *Mutex) wakeOrHandOff() bool {
	m.mu.Lock()
	s := m.state.Load()
	if s&mutexQueued == 0 || s&mutexWoken != 0 {
		m.mu.Unlock()
		return false
	}
	w := m.waiters.pop()
	if s >= mutexHandOff {
		s -= mutexHandOff
		m.choose(w, true)
	} else {
		s = s&^mutexHeld | mutexWoken
		m.choose(w, false)
	}
	release.Store(&m.state, m.trim(s))
	m.mu.Unlock()
	w.handOff()
	return true
}

// trim returns s without the bits about waiters if the queue is empty. The caller holds mu.
func (m *Mutex) trim(s uint64) uint64 {
	if m.waiters.empty() {
		s &= (mutexHandOff - 1) &^ mutexQueued
	}
	return s
}

// giveUp takes w out of the queue, and reports whether it was there. If it was not, giveUp
// returns after w's hand-off.
func (m *Mutex) giveUp(w *waiter) bool {
	m.mu.Lock()
	left := m.waiters.remove(w)
	for left {
		if s := m.state.Load(); m.state.CompareAndSwap(s, m.trim(s)) {
			break
		}
	}
	m.mu.Unlock()
	if !left {
		_ = w.await(until{})
	}
	return left
}

// declineWake is for a waiter that was woken and leaves: the next Unlock wakes another one
// instead. If the mutex is free, so that no Unlock will come, it does nothing and returns
// false.
func (m *Mutex) declineWake() bool {
	for {
		s := m.state.Load()
		if s&mutexHeld == 0 {
			return false
		}
		if m.state.CompareAndSwap(s, s&^mutexWokenBits) {
			return true
		}
	}
}
