package bench

/*
#cgo CFLAGS: -O2 -Wall -Wextra
#cgo debug CFLAGS: -DMARL_DEBUG
#include "pingpong.h"

static void *open_pair(const struct pingpong *p, uintptr_t lo, uintptr_t top) {
    return p->open((void *)lo, top - lo);
}
static uint64_t run_pair(const struct pingpong *p, void *pair, uint64_t trips) {
    return p->run(pair, trips);
}
static void close_pair(const struct pingpong *p, void *pair) {
    p->close(pair);
}
*/
import "C"

import (
	_ "embed"
	"errors"
	"fmt"
	"time"
	"unsafe"

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
	loop  *C.struct_pingpong
	pool  *stack.Pool
	stack *stack.Stack
	pair  unsafe.Pointer // C memory
	trip  int            // operations of a trip
}

func openSigsetjmp() (Session, error) { return openPingpong(&C.pingpong_sigsetjmp, 2) }
func openUcontext() (Session, error)  { return openPingpong(&C.pingpong_ucontext, 2) }

// openFloor counts a trip as one operation: where nothing switches there is no other side.
func openFloor() (Session, error) { return openPingpong(&C.pingpong_floor, 1) }

// openPingpong opens a loop that makes trip operations a round trip: 2, or 1 if it does not switch.
func openPingpong(loop *C.struct_pingpong, trip int) (Session, error) {
	pool, err := stack.NewPool(stack.Options{})
	if err != nil {
		return nil, err
	}
	st, err := pool.Get()
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	p := &pingpong{loop: loop, pool: pool, stack: st, trip: trip}
	p.pair, err = C.open_pair(loop, C.uintptr_t(st.Lo()), C.uintptr_t(st.Top()))
	if p.pair == nil {
		return nil, errors.Join(fmt.Errorf("allocating two contexts: %w", err), p.free())
	}
	return p, nil
}

func (p *pingpong) Run(n int) (Sample, error) {
	trips := max(1, (n+p.trip-1)/p.trip)
	s := Sample{Operations: p.trip * trips}
	err := onCPU(currentCPU(), func() error {
		s.Elapsed = time.Duration(C.run_pair(p.loop, p.pair, C.uint64_t(trips)))
		return nil
	})
	return s, err
}

func (p *pingpong) Close() error {
	C.close_pair(p.loop, p.pair)
	return p.free()
}

func (p *pingpong) free() error {
	return errors.Join(p.pool.Put(p.stack), p.pool.Close())
}
