// Package spinlock has a lock for a few instructions, which costs half of a sync.Mutex.
//
// Whoever takes a lock does so by an instruction that no other processor may come between. On
// amd64 such an instruction waits until all that was stored before can be seen by everybody:
// some twenty cycles, often more than what is done under the lock. A sync.Mutex needs a second
// one to let it go, since it has to find out in the same moment whether somebody sleeps until
// then. Here nobody does: who wants the lock looks again and again, so an ordinary store lets it go.
//
// That keeps no order, but others make way for who has waited long; and it is a waste if the lock is held
// for long. So nothing should be done under it that blocks or calls code of others, and nothing
// lengthy; that wants a sync.Mutex.
//
// Nor is Unlock a fence: what the caller loads next may be loaded before others can see what it
// has stored. Who stores under the lock, lets it go, and then looks whether anybody sleeps, misses
// nobody if those say that they sleep before they take the same lock for their last look.
package spinlock

import _ "fiberlab/internal/platform"
