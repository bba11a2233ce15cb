// Package sched decides what runs next, on which worker, and how an idle worker waits.
//
// A [Scheduler] has workers. A [Worker] is a thread that runs tasks, on one fiber after the other. When a task waits,
// its [Fiber] keeps it, and another fiber runs the worker: a queued one, else an idle one, else a new one. Each fiber
// is in one of five states, Idle, Yielded, Waiting, Queued and Running. The table of the legal transitions is in
// state.go.
//
// # A task's life, file by file
//
//	task.go           Enqueue gives it to the policy, or to the one worker that may begin it
//	policy_*.go       the policy queues it, and wakes a worker; policy.go: what each policy must do
//	idle.go           a worker that waited finds it: it has been notified by its word, see fiberlab/internal/idle
//	loop.go           the worker's loop: take what is next; a fiber without a task calls the task
//	fiber.go          the fiber that stands for the task
//	wait.go           the task waits, and another fiber continues; it is woken, and resumes
//	state.go          the variable in which the state of that fiber changes, and how others get at a fiber that waits
//	worker.go         what belongs to a worker's thread: where a fiber waits to be resumed, and the mailbox
//	timers.go         deadlines of fibers
//	pool.go           the fibers of a worker: idle ones, new ones, those that have ended
//
// # The other files
//
//	scheduler.go      the life of a scheduler; config.go: what it is made of; close.go: its end
//	bind.go           a goroutine that is a worker for a time
//	thread.go         the thread of a worker: its name, its processors
//	groups.go         the scheduling groups; group_queue.go: their queues
//	deadlock.go       whether anything can still happen, and where fibers wait for what cannot come
//	watchdog.go       the watchdog, tasks that block their thread, and the stacks of goroutines
//	device.go         where a worker sleeps and what it polls, such as a ring of input and output
//	stats.go          what is counted; record.go: what a recorder learns; errors.go: what can be wrong with a call
//
// # What is locked
//
// What belongs to a worker's thread has no lock: other threads leave messages in its mailbox. A fiber's state changes
// by compare-and-swap. Each queue that several threads use has one small lock, and no thread holds two. In debug builds
// (-tags debug) an illegal transition ends the program, and so does a thread that touches what belongs to another.
//
// On top stand the primitives that tasks wait by. sleep.go has the fiber as a [park.Parker], the only thing that the
// primitives of fiberlab/sched/fibersync know of a scheduler; fiberlab/sched/ctask has the same waits for C.
// fiberlab/sched/trace is a recorder. docs/scheduler.md describes the whole.
package sched

import _ "fiberlab/internal/platform"
