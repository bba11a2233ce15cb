// Package sched is the room of policy: who runs next, on which worker, and how
// long an idle worker waits.
//
// A [Scheduler] has workers. A [Worker] is a thread that runs tasks, on one fiber
// after the other: when a task waits, its [Fiber] keeps it, and another fiber, one that
// is queued, else an idle one, else a new one, carries the worker on. Each fiber is in
// one of five states, Idle, Yielded, Waiting, Queued and Running; the table of
// the legal transitions is in state.go.
//
// # The way of one task
//
//	Enqueue       enqueue.go  puts it where a worker will find it, and wakes one
//	waitForWork   idle.go     the worker spins (spin.go), steals (steal.go), sleeps (bell.go)
//	runUntilIdle  run.go      the current fiber takes the task and calls it
//	wait          suspend.go  the task waits: Yielded or Waiting, and another fiber goes on
//	Notify        run.go      somebody makes it Queued; so does its deadline (timers.go)
//	switchTo      suspend.go  its turn has come: it is Running, and its call returns
//
// worker.go has the life of a worker and stop.go its end, scheduler.go the life of a
// scheduler and close.go its end, survey.go and inquiry.go what happens if that cannot come.
//
// Above it stands what tasks wait by: park.go makes a fiber a [park.Parker], the only thing
// that the primitives of fiberlab/sched/fibersync know of a scheduler, and fiberlab/sched/ctask
// has the same waits for C. docs/scheduler.md is about the whole.
//
// # Locks
//
// Each worker has one lock, over its queues and its fibers' states, and a second one
// over the inbox, in which others put tasks. Nobody holds two workers' locks at once.
// In debug builds (-tags debug) an illegal transition ends the program. So does a call
// that breaks what a comment says of the worker's lock: "must be held", "must not be held".
package sched
