package sched

import (
	"sync/atomic"

	"fiberlab/internal/debug"
	"fiberlab/internal/spinlock"
)

// debug builds, made with -tags debug, check every transition and every lock contract.

// workLock is the lock of a worker's queues and of its fibers' states. It goes
// with the thread over a switch: the fiber that leaves has locked it, and the one
// that arrives unlocks it. What is done under it is short: queue operations, and now and then
// the release of a sync.Mutex that a wait was given, a line for the Recorder. A deadlock
// inquiry gives it up after every few fibers.
//
// In debug builds it knows its holder and checks the contracts that the comments
// name: "must be held" and "must not be held".
type workLock struct {
	mu     spinlock.Lock
	holder atomic.Pointer[Worker] // debug builds only
}

// outsider stands for any holder that is no worker.
var outsider Worker

// lockingParty is the worker that the caller runs on.
func lockingParty() *Worker {
	if f := Current(); f != nil {
		return f.worker
	}
	return &outsider
}

func (l *workLock) lock() {
	if debug.On {
		l.mustNotHold("lock")
	}
	l.mu.Lock()
	if debug.On {
		l.holder.Store(lockingParty())
	}
}

// tryLock takes the lock if that is possible at once, and tells whether it did.
func (l *workLock) tryLock() bool {
	if !l.mu.TryLock() {
		return false
	}
	if debug.On {
		l.holder.Store(lockingParty())
	}
	return true
}

func (l *workLock) unlock() {
	if debug.On {
		l.mustHold("unlock")
		l.holder.Store(nil)
	}
	l.mu.Unlock()
}

// mustHold panics in a debug build unless the caller holds the lock.
func (l *workLock) mustHold(what string) {
	if debug.On && l.holder.Load() != lockingParty() {
		panic("sched: lock contract broken: " + what + " without the worker's lock")
	}
}

// mustNotHold panics in a debug build if the caller is a worker that holds the lock.
func (l *workLock) mustNotHold(what string) {
	if !debug.On {
		return
	}
	if party := l.holder.Load(); party != nil && party != &outsider && party == lockingParty() {
		panic("sched: lock contract broken: " + what + " while the worker's lock is held")
	}
}
