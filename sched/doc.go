// Package sched decides what runs next, on which worker, and how an idle worker waits.
//
// A [Scheduler] has workers. A [Worker] is a thread that runs tasks, on one fiber after the other. When a task waits,
// its [Fiber] keeps it, and another fiber runs the worker: a queued one, else an idle one, else a new one. Each fiber
// is in one of five states, Idle, Yielded, Waiting, Queued and Running. The table of the legal transitions is in
// state.go.
//
// docs/scheduler.md describes the whole. It names the files that a task passes, in the order in which to read them.
// Beside these there are:
//
//	scheduler.go      the life of a scheduler; config.go: its parts; close.go: its end
//	bind.go           a goroutine that is a worker for a time
//	groups.go         how scheduling groups are laid out
//	deadlock.go       whether anything can still happen; watchdog.go: the watchdog, and which workers are stalled.
//	                  Package fiberlab/sched/report has their reports
//	device.go         where a worker sleeps and what it polls, such as a ring of input and output
//	record.go         what a recorder learns; errors.go: what can be wrong with a call
//
// # What is locked
//
// What belongs to a worker's thread has no lock: other threads leave messages in its mailbox. A fiber's state changes
// by compare-and-swap. Each queue that several threads use has one small lock, or one for each end. In debug builds
// (-tags debug) an illegal transition ends the program, and so does a thread that touches what belongs to another.
//
// On top stand the primitives that tasks wait by. sleep.go has the fiber as a [park.Parker], the only thing that the
// primitives of fiberlab/sched/fibersync know of a scheduler; fiberlab/sched/ctask has the same waits for C.
// fiberlab/sched/trace is a recorder.
package sched

import _ "fiberlab/internal/platform"
