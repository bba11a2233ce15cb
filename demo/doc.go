// Package demo makes faults of concurrent programs visible: faults that come once in a million runs, and that no test
// finds twice. It is what fiberlab demo runs. It stands beside package wordcount since it uses the scheduler and the primitives as any program
// would, and below no command, so that tests and your own programs can use it.
//
// # Traps of condition variables
//
// A [Program] is a text: some threads, and the lines that each of them runs. [Grammar] says how it is written. Each thread is a
// fiber, and the lock and the condition variables are those of package fibersync. But a thread runs a line only when a
// schedule gives it a turn, and one runs at a time. So a schedule is a list of threads, and the same schedule always leads to the same end.
// [Program.Explore] runs a program under all schedules that there are and tells how many lead to a fault;
// [Program.Replay] runs it under one. [Traps] has programs with a mistake each, and the same ones repaired.
//
//	program.go       a program as text: parsing, and which line follows which
//	statement.go     the grammar: the lines that a program may have, and what each does
//	execution.go     one execution: fibers that wait for their turn
//	schedules.go     all schedules, and a given one
//	fault.go         what went wrong: a thread that is never woken, a cycle of waits
//	interleaving.go  what an execution leaves behind; words.go tells it in sentences
//	traps.go         the four traps; trap.go shows one
//
// # A pool that is stuck
//
// [CompareJoins] runs one program, whose tasks wait for their children, on three kinds of pools.
//
//	deadlock.go   the program, and the comparison
//	plainpool.go  threads and a queue, where a wait only waits: all threads wait, and none is left to run the children
//	helping.go    a pool of package forkjoin: a wait runs the child itself
//	parking.go    fibers: a wait parks the fiber, and its thread runs others
//	journal.go    what each task did, and where
package demo

import _ "fiberlab/internal/platform"
