// Package ctask is the scheduler's interface for C code that runs inside tasks:
// fiberlab_task.h, with functions to schedule, yield, wait and notify. A C function that
// waits blocks its fiber and never its thread.
//
// It has nothing for Go code to call. A Go program that contains such C imports it to
// be linked with it.
//
// A C function that waits lies between Go frames: the frames of the Go task that called it
// are below, and the frames of this package and of sched above. Both belong to the goroutine of the
// fiber, so a hand-switched fiber can be left there. A coroutine cannot: while C code
// that it called calls Go, the Go runtime locks it to its thread. So wait and yield
// refuse on the goroutine backend.
package ctask

/*
#cgo CFLAGS: -O2 -Wall -fno-omit-frame-pointer
#include "fiberlab_task.h"

void fiberlab_task_run(uintptr_t fn, uintptr_t arg);
*/
import "C"

import (
	"errors"
	"sync"
	"time"

	"fiberlab/fiber"
	"fiberlab/sched"
)

// The function and its argument come as numbers: the argument need not be an address, and
// Go's garbage collector checks whatever has a pointer type.
//
//export fiberlabTaskSchedule
func fiberlabTaskSchedule(fn, arg C.uintptr_t) C.int {
	if fn == 0 {
		return C.FIBERLAB_TASK_NULL
	}
	run := func() { C.fiberlab_task_run(fn, arg) }
	var err error
	if _, code := suspendable(); code == C.FIBERLAB_TASK_BACKEND {
		err = sched.Get().TryEnqueue(sched.Task{Func: run}) // a wait for room would leave the C frame
	} else {
		err = sched.Schedule(run)
	}
	switch {
	case err == nil:
		return C.FIBERLAB_TASK_OK
	case errors.Is(err, sched.ErrClosed):
		return C.FIBERLAB_TASK_CLOSED
	case errors.Is(err, sched.ErrOverload), errors.Is(err, sched.ErrFull):
		return C.FIBERLAB_TASK_OVERLOADED
	}
	return C.FIBERLAB_TASK_NO_SCHEDULER
}

//export fiberlabTaskYield
func fiberlabTaskYield() C.int {
	if _, code := suspendable(); code != C.FIBERLAB_TASK_OK {
		return code
	}
	sched.Yield()
	return C.FIBERLAB_TASK_OK
}

//export fiberlabTaskCurrent
func fiberlabTaskCurrent() C.uint64_t {
	f := sched.Current()
	if f == nil {
		return 0
	}
	return C.uint64_t(handles.of(f))
}

//export fiberlabTaskWait
func fiberlabTaskWait(mutex *C.pthread_mutex_t, timeout C.int64_t) C.int {
	f, code := suspendable()
	if code != C.FIBERLAB_TASK_OK {
		return code
	}
	var lock sync.Locker
	held := &heldMutex{mutex: mutex, waiter: f}
	if mutex != nil {
		lock = held
	}
	notified := true
	if timeout < 0 {
		f.Wait(lock, nil)
	} else {
		notified = f.WaitFor(lock, time.Duration(timeout), nil)
	}
	switch {
	case held.failed:
		return C.FIBERLAB_TASK_MUTEX
	case !notified:
		return C.FIBERLAB_TASK_TIMED_OUT
	}
	return C.FIBERLAB_TASK_OK
}

//export fiberlabTaskNotify
func fiberlabTaskNotify(id C.uint64_t) C.int {
	f, issued := handles.fiber(uint64(id))
	if !issued {
		return C.FIBERLAB_TASK_NO_HANDLE
	}
	if f != nil {
		f.Notify()
	}
	return C.FIBERLAB_TASK_OK
}

// suspendable returns the calling fiber if it can be suspended while C frames are on it;
// otherwise the code says why not.
func suspendable() (*sched.Fiber, C.int) {
	f := sched.Current()
	switch {
	case f == nil:
		return nil, C.FIBERLAB_TASK_NO_FIBER
	case fiber.Current().Backend() == fiber.Goroutine:
		return nil, C.FIBERLAB_TASK_BACKEND
	}
	return f, C.FIBERLAB_TASK_OK
}
