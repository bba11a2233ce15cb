package fibersync

// rlock is RLockContext where a writer was in the way.
func (m *RWMutex) rlock(u until) error {
	m.writer.MustNotHold()
	m.guard.Lock()
	for !m.TryRLock() {
		s := m.state.Load()
		if s&rwWriter != 0 && m.state.CompareAndSwap(s, s|rwQueued) {
			w := newWaiter()
			w.awaits((*awaitedRWMutex)(m))
			err := m.readers.waitAs(w, &m.guard, u)
			w.free()
			return err
		}
	}
	m.guard.Unlock()
	return nil
}

// awaitReaders keeps new readers out and waits until those who are in have left. If
// it returns an error the others may come again. The caller holds m.writer.
func (m *RWMutex) awaitReaders(u until) error {
	m.guard.Lock()
	if m.state.Or(rwWriter) < rwReader {
		m.guard.Unlock()
		return nil
	}
	w := newWaiter()
	m.waiting.push(w)
	m.guard.Unlock()
	w.awaits((*awaitedReaders)(m))
	err := w.await(u)
	if err != nil && !m.giveUp(w) {
		err = w.await(until{}) // the last reader is about to grant it
	}
	w.free()
	return err
}

// giveUp takes w out of the line of the writer and lets the readers in, and tells whether it
// stood there.
func (m *RWMutex) giveUp(w *waiter) bool {
	m.guard.Lock()
	if !m.waiting.remove(w) {
		m.guard.Unlock()
		return false
	}
	m.admit()
	return true
}

// lastReaderLeft lets the writer in that waits for the readers to leave.
func (m *RWMutex) lastReaderLeft() {
	m.guard.Lock()
	var w *waiter
	// There may be a new writer by now, and new readers for whom that one waits.
	if m.state.Load() < rwReader {
		w = m.waiting.pop()
	}
	m.guard.Unlock()
	if w != nil {
		w.grant()
	}
}

// admit lets all readers in, those who wait and those who come; there is no writer any
// more. The guard must be held; admit releases it.
func (m *RWMutex) admit() {
	waiting := m.readers.takeAll()
	n := uint32(0)
	for w := waiting; w != nil; w = w.next {
		n++
	}
	for {
		s := m.state.Load()
		if m.state.CompareAndSwap(s, s&^(rwWriter|rwQueued)+n*rwReader) {
			break
		}
	}
	m.guard.Unlock()
	grantAll(waiting)
}
