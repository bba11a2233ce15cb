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

var (
	openSigsetjmp = openPingpong(&C.pingpong_sigsetjmp, 2)
	openUcontext  = openPingpong(&C.pingpong_ucontext, 2)
	openFloor     = openPingpong(&C.pingpong_floor, 1) // where nothing switches there is no other side
)

// openPingpong opens a C loop that makes trip operations a round trip: 2, or 1 if it does not switch.
func openPingpong(loop *C.pingpong, trip int) func() (Session, error) {
	return func() (Session, error) {
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
}

func (p *pingpong) Run(n int) (Sample, error) {
	trips := max(1, (n+p.trip-1)/p.trip)
	lo, top := C.uintptr_t(p.stack.Lo()), C.uintptr_t(p.stack.Top())
	return timed(p.trip*trips, func() C.uint64_t { return C.run_loop(p.loop, lo, top, C.uint64_t(trips)) })
}

func (p *pingpong) Close() error {
	return errors.Join(p.pool.Put(p.stack), p.pool.Close())
}
