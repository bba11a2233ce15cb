package uring

import "fiberlab/sched"

// Options describes engines, contexts, or a scheduler's contexts. The zero value is fine.
type Options struct {
	Driver   Driver
	Requests int // that are handed to the kernel at a time at most; 0: 256, and never more than 32,768
	Buffers  int // of 2 KB, which hold what has come on connections until it is read; 0: 4,096; less than 0: none

	// The rest is for contexts.

	Tasks int // that may be queued; 0: 65,536

	// Fibers describes the fibers on which a context runs its tasks: backend, policy, stacks, recorder and the like.
	// Workers, Device, MaxQueued and GiveUpAfter are the context's own to choose.
	Fibers sched.Config

	// Panicked is told when a task panics, on the task's fiber; the context goes on. If it is nil, a report goes to
	// stderr.
	Panicked func(value any, stack []byte)
}

// mostRequests is how many requests the kernel takes at a time.
const mostRequests = 1 << 15

func (o Options) requests() int {
	if o.Requests <= 0 {
		return 256
	}
	return min(o.Requests, mostRequests)
}

// bufferSize is the size of one of an engine's buffers.
const bufferSize = 2 << 10

func (o Options) buffers() int {
	if o.Buffers == 0 {
		return 4096
	}
	return min(o.Buffers, 32768) // more the kernel refuses
}
