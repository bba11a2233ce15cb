package sched

import (
	"time"

	"fiberlab/internal/clock"
	"fiberlab/sched/park"
)

var _ park.Scheduled = (*Fiber)(nil)

// Park blocks the calling task, which must run on f, until f.Unpark has been called,
// or until deadline if that is not the zero time; see [park.Parker]. It is what the
// primitives wait by: unlike Wait it asks for no lock, since an Unpark that comes first
// is kept. It panics with an error that wraps ErrNotSelf or ErrNoFiber if f is not
// the caller.
func (f *Fiber) Park(deadline time.Time) {
	if f == nil || !f.fiber.IsCurrent() {
		panic(f.misuse("park"))
	}
	until := clock.Never
	if !deadline.IsZero() {
		until = clock.At(deadline)
	}
	if f.permit.Load() != 0 {
		f.permit.Swap(0)
		f.awaits = nil
		return
	}
	f.block(until, parked)
	// An Unpark that found f not parked has left its permit; one that comes later finds it parked.
	if f.permit.Swap(0) == 0 || !f.unblock() {
		f.suspend()
	}
	f.awaits = nil
}

// Unpark makes f's Park return, the present call or else the next one. It leaves a
// fiber alone that is blocked in anything else. It may be called from anywhere, and
// does not block. It panics with an error that wraps ErrNoFiber or ErrNotMade if f is none of a scheduler's.
func (f *Fiber) Unpark() {
	if f == nil || f.maker == nil {
		panic(f.misuse("unpark"))
	}
	if f.wake(parked) {
		return
	}
	f.permit.Swap(1)
	// f may have parked before it could see the permit.
	f.wake(parked)
}

// Awaits says what f, which must be the caller, is going to park for; see [park.Scheduled].
func (f *Fiber) Awaits(what park.Awaited) {
	if f == nil {
		panic(f.misuse("tell what it awaits"))
	}
	f.awaits = what
}

// Start queues g as a task of the scheduler of f; see [Scheduler.Enqueue]. It returns
// ErrNoFiber or ErrNotMade if f has none.
func (f *Fiber) Start(g func()) error {
	if f == nil || f.maker == nil {
		return f.misuse("start")
	}
	return f.maker.scheduler.Enqueue(Task{Func: g})
}

// Yield lets the other fibers and a task of the worker go first; see [park.Scheduled].
func (f *Fiber) Yield() {
	if f == nil || !f.fiber.IsCurrent() {
		panic(f.misuse("yield"))
	}
	f.yield()
}

// LocalSlot is where f keeps what belongs to its present task; see [park.Scheduled]. The main fiber of
// a goroutine that is bound keeps it until Unbind.
func (f *Fiber) LocalSlot() *any { return &f.place }

// WaiterSlot is where something lies from one wait of f to the next; see [park.Parker].
func (f *Fiber) WaiterSlot() *any { return &f.spare }

// Shared is what all fibers of f's scheduler share; see [park.Scheduled].
func (f *Fiber) Shared() *park.Shared {
	if f == nil || f.maker == nil {
		panic(f.misuse("share"))
	}
	return &f.maker.scheduler.shared
}

// Thread is the same for all fibers that stay with f's worker; see [park.Scheduled]. A fiber that may migrate
// can go on on any thread.
func (f *Fiber) Thread() any {
	if f == nil || f.maker == nil {
		panic(f.misuse("tell the thread"))
	}
	if f.home == nil {
		return park.AnyThread()
	}
	return f.home
}
