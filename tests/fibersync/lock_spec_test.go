package fibersync_test

import "fiberlab/internal/history"

// lockDo is an operation on a lock, or on the register that it protects.
type lockDo struct {
	client int
	what   string
	value  int // that is written
}

// lockHad is what came of it: whether the lock was had, or which value was read.
type lockHad struct {
	ok        bool
	value     int
	contended bool // of tryLock: another client may have waited for the lock meanwhile
}

// lockState is a register with its lock: the writer and the readers, each as a bit by its number.
type lockState struct {
	writer, readers uint
	value           int
}

// lockSpec specifies a Mutex if no client reads, and an RWMutex otherwise. An attempt at a mutex may fail only if the
// mutex is held, or if another client waits. The mutex may have been handed off to that client, and the hand-off may be
// revoked before the client accepts it. An attempt at an RWMutex may also fail if another client tries.
func lockSpec(strict bool) history.Spec[lockState, lockDo, lockHad] {
	return history.Spec[lockState, lockDo, lockHad]{Step: func(s lockState, in lockDo, out lockHad) (bool, lockState) {
		me := uint(1) << in.client
		next := s
		switch in.what {
		case "lock", "lockContext", "tryLock":
			next.writer |= me
			if !out.ok {
				return in.what == "lockContext" || !strict || s.writer != 0 || out.contended, s
			}
			return s.writer == 0 && s.readers == 0, next
		case "rlock", "rlockContext", "tryRLock":
			next.readers |= me
			if !out.ok {
				return true, s
			}
			return s.writer == 0, next
		case "write":
			next.value = in.value
			return s.writer == me, next
		case "read":
			return (s.writer|s.readers)&me != 0 && s.value == out.value, s
		case "unlock":
			next.writer = 0
			return s.writer == me, next
		case "runlock":
			next.readers &^= me
			return s.readers&me != 0, next
		}
		return false, s
	}}
}
