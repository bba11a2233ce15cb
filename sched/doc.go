// Package sched decides what runs next, on which worker, and how an idle worker waits.
//
// A [Scheduler] has workers. A [Worker] is a thread that runs tasks, on one fiber
// after the other: when a task waits, its [Fiber] keeps it, and another fiber,
// a queued one, else an idle one, else a new one, carries the worker on. Each fiber is in
// one of five states, Idle, Yielded, Waiting, Queued and Running; the table of
// the legal transitions is in state.go.
//
// # A task's life, file by file
//
//	task.go           Enqueue gives it to the policy, or to the one worker that may begin it
//	policy_*.go       the policy queues it, and wakes a worker
//	idle.go           the worker that waited finds it: it has been notified by its word, see fiberlab/internal/idle
//	loop.go           the worker's loop: take what is next; a fiber without a task calls the task
//	execute.go        the call itself
//	wait.go           the task waits, and another fiber goes on; it is woken, and resumes
//	publish.go        where fibers may migrate: how other workers get at the fiber that waits
//	word.go           the variable in which the state of that fiber changes
//	local             where a fiber that stays waited for its turn
//
// # What is beside that
//
//	scheduler.go      the life of a scheduler; close.go: its end
//	worker.go         the life of a worker; bind.go: a goroutine that is a worker for a time
//	injection.go      where other threads put tasks for a worker; mailbox.go: and ready fibers, and tasks that no other
//	                  worker may begin
//	pool.go           the fibers of a worker: idle ones, new ones, those that have ended
//	deadlock.go       whether anything can still happen, and where fibers wait for what cannot come
//	stall.go          the watchdog, tasks that block their thread, and the stacks of goroutines
//	duty.go           what runs between two fibers; block_hook.go: how a task learns that it is about to block
//
// # What is locked
//
// What belongs to a worker's thread has no lock: other threads leave messages in its mailbox. A fiber's state is
// changed by compare-and-swap. Each queue that several threads use has one small lock, and no thread holds two. In
// debug builds (-tags debug) an illegal transition ends the program, and so does a thread that touches what belongs to
// another.
//
// On top stand the primitives that tasks wait by. parker.go has the fiber as a [park.Parker], the only thing that the
// primitives of fiberlab/sched/fibersync know of a scheduler; fiberlab/sched/ctask has the same waits for C.
// fiberlab/sched/trace keeps what record.go tells of each transition. docs/scheduler.md describes the whole.
package sched

import _ "fiberlab/internal/platform"
