// Package spinlock has a lock for a few instructions, which costs half of a sync.Mutex.
//
// Whoever takes a lock does so by an instruction that no other processor may come between. On
// amd64 such an instruction waits until all that was stored before can be seen by everybody:
// some twenty cycles, often more than what is done under the lock. A sync.Mutex needs a second
// one to let it go, since it has to find out in the same moment whether somebody sleeps until
// then. Here nobody does: who wants the lock looks again and again, so an ordinary store lets it go.
//
// That is fair to nobody, and a waste if the lock is held for long. So nothing may be done under
// it that blocks or calls code of others, and nothing lengthy; that wants a sync.Mutex.
package spinlock
