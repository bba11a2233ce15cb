// Package uring is an engine of input and output. An engine hands requests to the kernel in batches, and collects what
// the kernel has completed, on one thread; no thread waits for a single request. A caller that waits for one parks: a
// fiber, or a goroutine.
//
// [Engines] give each worker of a scheduler an engine:
//
//	engines := uring.New(uring.Options{})
//	defer engines.Close()
//	engines.Attach(&cfg)
//	s, err := sched.New(cfg)
//
// From then on package fiberio opens connections, listeners and files by them, for tasks of s and for goroutines. An
// engine stands on io_uring, or on epoll where the kernel has no io_uring: see [Driver]. Package dispatch has contexts,
// which are engines with a thread that run tasks.
//
// docs/uring.md says how all this works.
package uring
