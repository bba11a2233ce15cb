package sched

import (
	"sync"
	"time"

	"fiberlab/internal/clock"
)

// BlockHook is told when the fiber of a task is about to block, and when it goes on. A task that keeps work to itself, to
// save locks, gives it to the other workers that way before it leaves its thread.
//
// Both methods run on the fiber, and must not block. If they do nevertheless, the fiber waits, holding all that its caller
// holds, and nothing is told of that wait. A panic in them ends the program, since it must not unwind a primitive that has queued
// the fiber already.
type BlockHook interface {
	// BeforeBlock is called just before the fiber blocks: what it waits for has not come, and its worker has run nothing
	// else yet. It may enqueue tasks, as far as there is room (TryEnqueue), notify fibers, and lock for moments what its caller
	// does not hold. The lock that was given to Wait is held.
	BeforeBlock()

	// AfterBlock is called when the fiber goes on, perhaps on another worker, before the call that has blocked it
	// returns. The lock that was given to Wait is held again.
	AfterBlock()
}

// OnBlock sets the hook of the calling task, which must run on f, and returns the one that it had; nil is none. The hook is
// told of each call that blocks the fiber, by whatever primitive, until the task ends, however it ends; once for each, even if
// it blocks several times until what it waits for has come. It is not told of Yield, nor of a call that finds what it waits for at
// once. A hook that is set while another one is being told begins with the next call.
//
// It does not block. It panics with an error that wraps ErrNoFiber, ErrNotMade or ErrNotSelf if the caller does not run on f.
// The main fiber of a goroutine that is bound keeps its hook until Unbind, of which it is not told.
func (f *Fiber) OnBlock(hook BlockHook) (previous BlockHook) {
	if f == nil || f != Current() {
		panic(f.misuse("set the hook of"))
	}
	previous, f.hook = f.hook, hook
	return previous
}

// The functions below are the ways to block, wait, sleep and Park, of a fiber whose hook has not been told yet. They
// tell it, and block as if there were none.

func (f *Fiber) waitTold(lock sync.Locker, deadline clock.Instant, pred func() bool) bool {
	defer f.tellAfter(f.tellBefore()) // pred may panic
	return f.wait(lock, deadline, pred)
}

func (f *Fiber) sleepTold(deadline clock.Instant) {
	hook := f.tellBefore()
	f.sleep(deadline)
	f.tellAfter(hook)
}

// parkTold sees to it that no token is lost: if the hook has parked too, that may have taken the token that was meant for this
// Park, which then returns for no reason.
func (f *Fiber) parkTold(deadline time.Time) {
	what := f.awaits
	f.awaits = inHook{}
	hook := f.tellBefore()
	if f.awaits != (inHook{}) { // Park forgets what it was for
		f.token.Swap(1)
	}
	f.awaits = what
	(*parker)(f).Park(deadline)
	f.tellAfter(hook)
}

// tellBefore tells the hook of f that f is about to block, and returns it.
func (f *Fiber) tellBefore() BlockHook {
	hook := f.hook
	f.hookTold = true
	mustReturn("BeforeBlock", f, hook.BeforeBlock)
	return hook
}

// tellAfter tells the hook that f goes on.
func (f *Fiber) tellAfter(hook BlockHook) {
	mustReturn("AfterBlock", f, hook.AfterBlock)
	f.hookTold = false
}

// inHook is what a fiber waits for that parks in its hook, unless the primitive says more.
type inHook struct{}

// Awaited implements park.Awaited.
func (inHook) Awaited() (string, uintptr) { return "", 0 }
