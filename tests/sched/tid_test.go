package sched_test

import (
	"golang.org/x/sys/unix"
)

// tid is the kernel's number of the calling thread.
func tid() int { return unix.Gettid() }
