package fibersync

import "fiberlab/sched/park"

// rlock is RLockContext when a writer is in the way.
func (m *RWMutex) rlock(u until) error {
	m.writer.holder.mustNot("lock for reading")
	m.mu.Lock()
	for !m.TryRLock() {
		s := m.state.Load()
		if s&rwWriter != 0 && m.state.CompareAndSwap(s, s|rwQueued) {
			w := newWaiter(&m.mu)
			w.what = (*awaitedRWMutex)(m)
			err := m.readers.waitAs(w, &m.mu, u)
			w.free()
			return err
		}
	}
	m.mu.Unlock()
	return nil
}

// awaitReaders keeps new readers out and waits until the present ones have left. If it returns
// an error, readers are let in again. The caller holds m.writer. If it must not park, awaitReaders unlocks m.writer and
// panics.
func (m *RWMutex) awaitReaders(u until) error {
	if err := park.CanPark(); err != nil {
		m.writer.Unlock()
		panic(err)
	}
	m.mu.Lock()
	if m.state.Or(rwWriter) < rwReader {
		m.mu.Unlock()
		return nil
	}
	w := newWaiter(&m.mu)
	w.what = (*awaitedReaders)(m)
	err := m.waiting.waitAs(w, &m.mu, u)
	w.free()
	if err != nil {
		m.mu.Lock()
		m.admit()
	}
	return err
}

// lastReaderLeft lets in the writer that waits for the readers to leave.
func (m *RWMutex) lastReaderLeft() {
	m.mu.Lock()
	var w *waiter
	// By now there may be another writer, which waits for new readers.
	if m.state.Load() < rwReader {
		w = m.waiting.pop()
	}
	m.mu.Unlock()
	if w != nil {
		w.handOff()
	}
}

// admit lets all readers in, from the queue and later ones; there is no writer any
// more. The caller holds mu; admit releases it.
func (m *RWMutex) admit() {
	n := uint32(m.readers.length)
	waiting := m.readers.takeAll()
	for {
		s := m.state.Load()
		if m.state.CompareAndSwap(s, s&^(rwWriter|rwQueued)+n*rwReader) {
			break
		}
	}
	m.mu.Unlock()
	handOffAll(waiting)
}
