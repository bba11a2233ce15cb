package ctask

// #include <pthread.h>
import "C"

import "fiberlab/sched"

// heldMutex is a mutex of C's as the lock of one wait. A fiber stays on its thread,
// so the thread that locked the mutex is the one that unlocks it.
type heldMutex struct {
	mutex  *C.pthread_mutex_t
	waiter *sched.Fiber
	failed bool // it was not held, or could not be locked again; it is not held now
}

// Unlock is called when the waiter is about to be blocked, under its worker's lock. If
// the mutex is not held by this thread the wait makes no sense; it cannot be taken
// back any more, but it can be ended.
func (m *heldMutex) Unlock() {
	if C.pthread_mutex_unlock(m.mutex) != 0 {
		m.failed = true
		go m.waiter.Notify()
	}
}

// Lock is called when the wait is over.
func (m *heldMutex) Lock() {
	if !m.failed {
		m.failed = C.pthread_mutex_lock(m.mutex) != 0
	}
}
