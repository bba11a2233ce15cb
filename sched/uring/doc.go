// Package uring does input and output by engines. An engine hands requests to the kernel in batches, and collects what
// the kernel has completed, on one thread; no thread waits for a single request. Code that uses it looks as if it
// blocked: its fiber, or its goroutine, parks.
//
// [Engines] give each worker of a scheduler an engine:
//
//	engines := uring.New(uring.Options{})
//	defer engines.Close()
//	engines.Attach(&cfg)
//	s, err := sched.New(cfg)
//
// From then on the connections, listeners and files that engines open may be used by tasks of s and by goroutines. An
// engine stands on io_uring, or on epoll where the kernel has no io_uring: see [Driver].
//
// [Context] is an engine with a thread and with fibers that run tasks, and stops itself when nothing is left to do.
// [Scheduler] runs tasks on several contexts.
//
// docs/uring.md says how all this works.
package uring
