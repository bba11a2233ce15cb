// Package demo makes faults of concurrent programs visible: faults that come once in a million runs, and that no test
// finds twice. It is what fiberlab demo runs, and the suite tests/demo tests it. It uses the scheduler and the
// primitives as any program does.
//
// # Traps of condition variables
//
// A [Program] is a text: some threads, and the lines that each of them runs. [Grammar] says how it is written. Each
// thread is a fiber, and its lock and its condition variables come from package fibersync. But a thread runs a line
// only when a schedule gives it a turn, and one runs at a time. So a schedule is a list of threads, and the same
// schedule always leads to the same end. [Program.Explore] runs a program under all schedules that there are and counts
// those that lead to a fault; [Program.Replay] runs it under one. [Traps] has programs with a mistake each, and the
// same ones repaired.
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
