// Package fibersync has the primitives by which tasks and goroutines wait for one another,
// in any mixture: a fiber that waits leaves its thread to other fibers, a goroutine
// waits as goroutines do, and each may wake the other.
//
// Where Go's sync has the same thing, it has the same name and shape here. What waits
// takes a [context.Context] in its form with Context, and gives the context's error
// when that is over first; the caller then has not got what it waited for, and
// nobody else has lost it.
//
// # How a wait works
//
// Each primitive is a few words under a lock of its own, its guard, and a line of those
// who wait (line.go). A waiter stands in line until somebody grants it what it waits for,
// which takes it out of the line and unparks it (wait.go). The guard is held for some
// instructions, never while anybody is parked. Parking is the business of
// fiberlab/sched/park; nothing here knows what a scheduler is.
//
// Who waits at a channel stands in line with an offer (offer.go): the other side takes
// it out, does the exchange and grants it. Who waits at several channels at a time
// has an offer in each line and is claimed once (select.go).
//
// In debug builds (-tags debug) the contracts of locks are checked: what "must be held"
// and "must not be held" by the caller.
package fibersync
