// Package ctask is the scheduler's face for C code that runs inside tasks:
// fiberlab_task.h, by which C schedules, yields, waits and notifies. C frames in
// mid-call block their fiber and never their thread.
//
// It has nothing for Go code to call: Go programs with such C in them import it to
// be linked with it.
//
// A C function that waits has Go frames above its own, those of this package and
// of sched, and below it those of the Go task that called it. Both are on the
// goroutine of the fiber, which is why a hand-switched fiber can be left there. A
// coroutine cannot: while C that it called is calling Go, the Go runtime ties it to
// its thread. So on the Goroutine backend wait and yield refuse.
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

// What C hands over as the function and its argument are numbers here: an argument
// need not be an address, and Go looks at pointers more closely than C does.
//
//export fiberlabTaskSchedule
func fiberlabTaskSchedule(fn, arg C.uintptr_t) C.int {
	if fn == 0 {
		return C.FIBERLAB_TASK_NULL
	}
	err := sched.Schedule(func() { C.fiberlab_task_run(fn, arg) })
	switch {
	case err == nil:
		return C.FIBERLAB_TASK_OK
	case errors.Is(err, sched.ErrClosed):
		return C.FIBERLAB_TASK_CLOSED
	}
	return C.FIBERLAB_TASK_NO_SCHEDULER
}

//export fiberlabTaskYield
func fiberlabTaskYield() C.int {
	if _, code := leaver(); code != C.FIBERLAB_TASK_OK {
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
	f, code := leaver()
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

// leaver is the calling fiber, if it can be left while C frames are on it;
// otherwise the code says why not.
func leaver() (*sched.Fiber, C.int) {
	f := sched.Current()
	switch {
	case f == nil:
		return nil, C.FIBERLAB_TASK_NO_FIBER
	case fiber.Current().Backend() == fiber.Goroutine:
		return nil, C.FIBERLAB_TASK_BACKEND
	}
	return f, C.FIBERLAB_TASK_OK
}
