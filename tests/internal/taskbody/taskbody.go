// Package taskbody has the C side of the tests of fiberlab_task.h: C functions that
// run inside tasks, and on threads that C has made.
package taskbody

/*
#cgo CFLAGS: -O2 -Wall -Wextra
#include <stdlib.h>
#include "taskbody.h"
*/
import "C"

import (
	"syscall"
	"unsafe"

	_ "fiberlab/sched/ctask" // fiberlab_task.h
)

// Code is a fiberlab_task_error, or NotHeld.
type Code int

// The codes of fiberlab_task.h.
const (
	OK          Code = C.FIBERLAB_TASK_OK
	TimedOut    Code = C.FIBERLAB_TASK_TIMED_OUT
	NoFiber     Code = C.FIBERLAB_TASK_NO_FIBER
	NoScheduler Code = C.FIBERLAB_TASK_NO_SCHEDULER
	Closed      Code = C.FIBERLAB_TASK_CLOSED
	Backend     Code = C.FIBERLAB_TASK_BACKEND
	Mutex       Code = C.FIBERLAB_TASK_MUTEX
	Null        Code = C.FIBERLAB_TASK_NULL
	NoHandle    Code = C.FIBERLAB_TASK_NO_HANDLE
	Overloaded  Code = C.FIBERLAB_TASK_OVERLOADED
)

// NotHeld is what Gate.Try answers if it has lost its mutex.
const NotHeld Code = -1

// String is fiberlab_task_error_text.
func (c Code) String() string { return C.GoString(C.fiberlab_task_error_text(C.int(c))) }

// Forever is the timeout of a wait without deadline.
const Forever = -1

// Ring is a ring of players, each a C task, that pass a turn around.
type Ring struct{ c *C.struct_taskbody_ring }

// NewRing makes a ring of which each player takes that many turns. Free it.
func NewRing(players, laps int) Ring {
	return Ring{C.taskbody_ring_new(C.int64_t(players), C.int64_t(laps))}
}

// Run schedules the players and waits, in C, until they are through. It must be
// called on a fiber.
func (r Ring) Run() { C.taskbody_ring_run(r.c) }

// Passes is how many turns were taken, Broken how many words, threads and codes were not as
// they should be, Moves how often a player continued on another thread. Call them when Run has returned.
func (r Ring) Passes() int { return int(r.c.passes) }
func (r Ring) Broken() int { return int(r.c.broken) }
func (r Ring) Moves() int  { return int(r.c.moves) }

// Free gives back the ring's memory.
func (r Ring) Free() { C.free(unsafe.Pointer(r.c)) }

// Gate is a flag with a mutex, for which one fiber waits.
type Gate struct{ c *C.struct_taskbody_gate }

// NewGate makes a gate; its mutex checks for errors if checked. Free it.
func NewGate(checked bool) Gate {
	if checked {
		return Gate{C.taskbody_gate_new(C.PTHREAD_MUTEX_ERRORCHECK)}
	}
	return Gate{C.taskbody_gate_new(C.PTHREAD_MUTEX_NORMAL)}
}

// Wait waits until the gate is open, each time for timeout nanoseconds at the
// longest, and returns the code of the last wait.
func (g Gate) Wait(timeout int64) Code { return Code(C.taskbody_gate_wait(g.c, C.int64_t(timeout))) }

// Waiter is the handle of the fiber that waits or has waited, 0 if none has.
func (g Gate) Waiter() uint64 {
	C.pthread_mutex_lock(&g.c.mutex)
	defer C.pthread_mutex_unlock(&g.c.mutex)
	return uint64(g.c.waiter.id)
}

// Open opens the gate and notifies the waiter.
func (g Gate) Open() { C.taskbody_gate_open(unsafe.Pointer(g.c)) }

// OpenInTask has a task open it.
func (g Gate) OpenInTask() Code {
	return Code(C.fiberlab_task_schedule((*[0]byte)(C.taskbody_gate_open), unsafe.Pointer(g.c)))
}

// OpenOnThread has a new thread of C's open it, and waits until that has ended.
func (g Gate) OpenOnThread() error { return errno(C.taskbody_gate_open_on_thread(g.c)) }

// Try locks the mutex and waits once with a deadline that has come already.
func (g Gate) Try() Code { return Code(C.taskbody_gate_try(g.c)) }

// WaitUnlocked waits with the mutex, which it does not hold.
func (g Gate) WaitUnlocked() Code { return Code(C.fiberlab_task_wait(&g.c.mutex, Forever)) }

// Free gives back the gate's memory.
func (g Gate) Free() { C.free(unsafe.Pointer(g.c)) }

// Codes are what the functions of fiberlab_task.h answer to one caller.
type Codes struct {
	Schedule, ScheduleNull, Yield, Current, CurrentNull, Wait, NotifyZero, NotifyUnissued Code
}

// Probe calls each function.
func Probe() Codes { return codes(C.taskbody_probe()) }

// ProbeOnThread is Probe on a new thread of C's.
func ProbeOnThread() (Codes, error) {
	var c C.struct_taskbody_codes
	err := errno(C.taskbody_probe_on_thread(&c))
	return codes(c), err
}

func codes(c C.struct_taskbody_codes) Codes {
	return Codes{
		Code(c.schedule), Code(c.schedule_null), Code(c.yield), Code(c.current), Code(c.current_null), Code(c.wait),
		Code(c.notify_zero), Code(c.notify_unissued),
	}
}

// Current is fiberlab_task_current.
func Current() (handle uint64, code Code) {
	var f C.fiberlab_task_fiber
	code = Code(C.fiberlab_task_current(&f))
	return uint64(f.id), code
}

// Notify is fiberlab_task_notify.
func Notify(handle uint64) Code {
	return Code(C.fiberlab_task_notify(C.fiberlab_task_fiber{id: C.uint64_t(handle)}))
}

// Yields and Currents call fiberlab_task_yield and fiberlab_task_current n times.
func Yields(n int)   { C.taskbody_yields(C.int64_t(n)) }
func Currents(n int) { C.taskbody_currents(C.int64_t(n)) }

func errno(code C.int) error {
	if code != 0 {
		return syscall.Errno(code)
	}
	return nil
}
