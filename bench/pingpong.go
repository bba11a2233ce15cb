package bench

/*
#cgo CFLAGS: -O2 -Wall -Wextra
#cgo debug CFLAGS: -DMARL_DEBUG
#include "pingpong.h"

static uint64_t run_loop(pingpong *loop, uintptr_t lo, uintptr_t top, uint64_t trips) {
    return loop((void *)lo, top - lo, trips);
}
*/
import "C"

import (
	_ "embed"
	"errors"
	"time"

	_ "fiberlab/cgo_ucontext"
	"fiberlab/stack"
)

// PingpongHeader is the text of pingpong.h, the loops by which a switch in C is measured, for programs that measure
// another one.
//
//go:embed pingpong.h
var PingpongHeader string

// pingpong switches between the thread's own stack and a second one, by one of the C loops.
type pingpong struct {
	loop  *C.pingpong
	trip  int // operations of a trip
	pool  *stack.Pool
	stack *stack.Stack
}

func openSigsetjmp() (Session, error) { return openPingpong(&C.pingpong_sigsetjmp, 2) }
func openUcontext() (Session, error)  { return openPingpong(&C.pingpong_ucontext, 2) }

// openFloor counts a trip as one operation: where nothing switches there is no other side.
func openFloor() (Session, error) { return openPingpong(&C.pingpong_floor, 1) }

// openPingpong opens a C loop that makes trip operations a round trip: 2, or 1 if it does not switch.
func openPingpong(loop *C.pingpong, trip int) (Session, error) {
	pool, err := stack.NewPool(stack.Options{})
	if err != nil {
		return nil, err
	}
	st, err := pool.Get()
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return &pingpong{loop, trip, pool, st}, nil
}

func (p *pingpong) Run(n int) (Sample, error) {
	trips := max(1, (n+p.trip-1)/p.trip)
	s := Sample{Operations: p.trip * trips}
	err := onCPU(currentCPU(), func() error {
		lo, top := C.uintptr_t(p.stack.Lo()), C.uintptr_t(p.stack.Top())
		s.Elapsed = time.Duration(C.run_loop(p.loop, lo, top, C.uint64_t(trips)))
		return nil
	})
	return s, err
}

func (p *pingpong) Close() error {
	return errors.Join(p.pool.Put(p.stack), p.pool.Close())
}
