package ctask

// #include <pthread.h>
import "C"

import "fiberlab/sched"

// heldMutex is a pthread mutex as the lock of one wait. A pthread mutex belongs to a thread. The wait
// unlocks it before it suspends the fiber, on the thread that has locked it. It locks it again on the
// thread on which the fiber is resumed, which is the thread on which the C caller goes on.
type heldMutex struct {
	mutex  *C.pthread_mutex_t
	waiter *sched.Fiber
	failed bool // the mutex was not held, or could not be locked again; it is not held now
}

// Unlock is called when the waiter is about to be suspended. If this thread does not hold
// the mutex, the wait is an error; it is too late to refuse it, so Unlock ends it by a
// notification.
func (m *heldMutex) Unlock() {
	if C.pthread_mutex_unlock(m.mutex) != 0 {
		m.failed = true
		m.waiter.Notify()
	}
}

// Lock is called after the wait.
func (m *heldMutex) Lock() {
	if !m.failed {
		m.failed = C.pthread_mutex_lock(m.mutex) != 0
	}
}
