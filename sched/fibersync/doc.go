// Package fibersync has the primitives by which tasks and goroutines wait for one another, in
// any mixture. A fiber that waits leaves its thread to other fibers, and a goroutine waits as
// goroutines do. Each may wake the other.
//
// Where Go's sync has the same thing, it has the same name and shape here. Each wait has a form
// that takes a [context.Context], with Context in its name. It returns context.Cause of the
// context if that is done first; then the caller has not got what it waited for, and no other
// waiter has lost it. A nil context is a panic with an error that wraps ErrNilContext. A fiber that must not block
// panics with an error that wraps sched.ErrInWait.
//
// Functions that start something, as [Async] and [Parallelize] do, start tasks of the caller's
// scheduler. A caller without a scheduler gets goroutines, see [OnGoroutine]. [On], [AsyncOn]
// and [WaitGroup.GoOn] name the scheduler.
//
// # How a wait works
//
// Each primitive is a few words guarded by a spinlock, mu, and a wait queue (waitqueue.go). A
// waiter is in the queue until the primitive hands off to it what it waits for, takes it out of
// the queue and unparks it (wait.go). mu is held for some instructions, never while its holder
// is parked. Parking is the business of fiberlab/sched/park; this package does not know what a
// scheduler is.
//
// A waiter of a channel is in the queue with an offer (offer.go): the other side takes it out,
// does the exchange and hands off. A waiter of several channels has an offer in each queue and
// is claimed once (select.go).
//
// Debug builds (-tags debug) check the contracts of locks: that the caller holds a lock, or
// does not.
package fibersync
