// Package dispatch runs tasks on engines of input and output. A [Context] is an engine with a thread and with fibers
// that run its tasks, and stops itself when nothing is left to do. A [Scheduler] deals tasks out to several contexts,
// and stops them when the last task has ended.
package dispatch
