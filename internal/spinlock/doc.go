// Package spinlock has a lock for a few instructions, which costs half as much as a sync.Mutex.
//
// To take a lock needs an atomic instruction. On amd64 it waits until all earlier stores are visible to
// other processors: some twenty cycles, often more than the work under the lock. A sync.Mutex needs a
// second atomic instruction to unlock, because it must find out at that moment whether a waiter sleeps.
// Waiters of a spinlock do not sleep until they are woken. They try again and again, with a back-off, so
// an ordinary store unlocks.
//
// The lock keeps no order, but callers let others run while a waiter is late. To hold it for long wastes
// the waiters' processors. So under it do nothing that blocks, calls code of other packages, or takes
// long; use a sync.Mutex for that.
//
// Unlock is not a fence: a load after it may happen before other processors see the stores before it. A
// thread that stores under the lock and unlocks may then look whether another thread sleeps. It misses none
// if each thread says that it sleeps before it takes the same lock for its last look.
package spinlock

import _ "fiberlab/internal/platform"
