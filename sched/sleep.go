package sched

import (
	"time"

	"fiberlab/internal/clock"
	"fiberlab/sched/park"
)

// parker is a Fiber as package park sees it. Its methods are for primitives that wait. They are no methods of Fiber, so
// that programs do not call them: park.Current gets the parker from the caller's fiber.Fiber. To convert one pointer
// into the other costs nothing.
type parker Fiber

var _ park.Scheduled = (*parker)(nil)

// Park implements [park.Parker]. It panics with an error that wraps ErrNotSelf if p is not the caller.
func (p *parker) Park(deadline time.Time) {
	f := (*Fiber)(p)
	if !f.fiber.IsCurrent() {
		panic(f.misuse("park"))
	}
	until := clock.Never
	if !deadline.IsZero() {
		until = clock.At(deadline)
	}
	if f.token.Load() != 0 && f.told != inHook { // in a hook, block panics
		f.token.Swap(0)
		f.awaits = nil
		return
	}
	if f.hook != nil && f.told == notTold {
		defer f.afterBlock(f.beforeBlock())
	}
	f.block(until, parked)
	// An Unpark that found f not parked has left its token; a later Unpark finds it parked.
	if f.token.Swap(0) == 0 || !f.unblock() {
		f.suspend()
	}
	f.awaits = nil
}

// Unpark implements [park.Parker]. It wakes the fiber only from Park; otherwise it leaves a token for the next Park.
func (p *parker) Unpark() {
	f := (*Fiber)(p)
	if f.wake(parked) {
		return
	}
	f.token.Swap(1)
	// f may have parked before it could see the token.
	f.wake(parked)
}

// Start implements [park.Parker]: it queues f as a task of the fiber's scheduler.
func (p *parker) Start(f func()) error { return p.maker.scheduler.Enqueue(Task{Func: f}) }

// StartNow implements [park.Parker]: like Start, but it never waits. Without room, it queues f beyond Config.MaxQueued.
func (p *parker) StartNow(f func()) error {
	return p.maker.scheduler.enqueue(noRoom, &Task{Func: f}, Current(), target{})
}

// WaiterSlot implements [park.Parker].
func (p *parker) WaiterSlot() *any { return &p.spare }

// Yield implements [park.Scheduled]. It panics with an error that wraps ErrNotSelf if p is not the caller.
func (p *parker) Yield() {
	f := (*Fiber)(p)
	if !f.fiber.IsCurrent() {
		panic(f.misuse("yield"))
	}
	f.yield()
}

// LocalSlot implements [park.Scheduled]. The main fiber of a goroutine that is bound keeps its value until Unbind.
func (p *parker) LocalSlot() *any { return &p.local }

// CanPark implements [park.Parker].
func (p *parker) CanPark() error {
	if f := (*Fiber)(p); f.inWait() {
		return f.nested("park")
	}
	return nil
}

// Awaits implements [park.Scheduled].
func (p *parker) Awaits(what park.Awaited) { p.awaits = what }

// Shared implements [park.Scheduled].
func (p *parker) Shared() *park.Shared { return &p.maker.scheduler.shared }

// Arena implements [park.Scheduled].
func (p *parker) Arena() *park.Arena { return p.worker.Load().arena }

// Thread implements [park.Scheduled]: the worker that a fiber stays with stands for its thread.
func (p *parker) Thread() any {
	if p.home == nil {
		return park.AnyThread()
	}
	return p.home
}
