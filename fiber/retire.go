package fiber

/*
#include "core.h"
*/
import "C"

import (
	"errors"
	"time"

	"fiberlab/internal/goroutine"
)

// retire ends runners on which nothing runs and which no fiber uses. To drop a lent identity
// its goroutine must return to where it began, so a root is needed to enter it. If none can be made,
// such runners go back to the pool.
func retire(rs []*runner) error {
	var serving []*runner
	var finished []*coroutine
	var errs []error
	for _, r := range rs {
		if r.co != nil {
			finished = append(finished, r.co)
		} else if r.entered.Load() {
			serving = append(serving, r)
		} else {
			errs = append(errs, r.free())
		}
	}
	if len(finished) > 0 {
		endUnpinned(finished...)
	}
	if len(serving) > 0 {
		left := serving
		errs = append(errs, onRoot(attach, probed, func(root *Fiber) error {
			left = nil
			return endServing(root, serving)
		}))
		runners.restore(left)
	}
	return errors.Join(errs...)
}

// endServing has each of rs return from serve, and ends it. One that root cannot enter goes back to the pool.
func endServing(root *Fiber, rs []*runner) error {
	var errs []error
	for _, r := range rs {
		f := &Fiber{name: "retiring", backend: r.kind.backend, runner: r}
		r.load(f, Ready)
		err := root.SwitchTo(f)
		r.state.Store(f.generation | uint64(Closed))
		r.fiber.Store(nil)
		if err != nil {
			runners.restore([]*runner{r})
		} else {
			err = r.free()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// onRoot runs do on a new goroutine, which attach makes a root of backend b, and waits. The root is not counted.
func onRoot(attach func(Backend) (*Fiber, error), b Backend, do func(root *Fiber) error) error {
	done := make(chan error, 1)
	go func() {
		root, err := attach(b)
		if err != nil {
			done <- err
			return
		}
		err = do(root)
		done <- errors.Join(err, root.detach())
	}()
	return <-done
}

// Drain empties the pool. It drops the identities of all idle runners and gives
// their memory back to the system. It deletes the timers that a finished CPU
// profile has left with dropped identities. It sets the pool's limits back to
// DefaultMaxIdle. Hand-switched runners on which a body called runtime.Goexit stay.
// It blocks until all is done, some 10 us for each identity, a microsecond on Goroutine. The error
// comes from the kernel or from package stack; runners that could not be ended stay in the pool.
//
// Half a second after the last root has been detached, the pool is drained by itself, except for the runners that
// Prewarm was asked for. A root that is detached in a bubble of testing/synctest does not count for that.
func Drain() error { return runners.drain(false) }

// idleDelay is how long the pool stays as it is when there is no root.
const idleDelay = 500 * time.Millisecond

// detached uncounts a root. If it was the last, the pool is drained after idleDelay.
func (p *pool) detached() {
	if p.roots.Add(-1) > 0 || goroutine.InBubble() { // whose timers may never fire
		return
	}
	p.lastDetach.Store(int64(monotonic()))
	if p.timerSet.CompareAndSwap(false, true) {
		time.AfterFunc(idleDelay, p.drainIdle)
	}
}

// drainIdle drains the pool if there has been no root for idleDelay, or comes again.
func (p *pool) drainIdle() {
	if early := idleDelay - (monotonic() - time.Duration(p.lastDetach.Load())); early > 0 {
		time.AfterFunc(early, p.drainIdle)
		return
	}
	// before the load, also in an emulator that lets it pass a Store: the last root may find a timer set just then
	p.timerSet.Swap(false)
	if p.roots.Load() == 0 {
		_ = p.drain(true) // identities that could not be dropped are in the pool again
	}
}

// drain is Drain. It may keep the runners that Prewarm was asked for, and all while there is a root.
func (p *pool) drain(keepPrewarmed bool) error {
	p.draining.Lock()
	defer p.draining.Unlock()
	err := errors.Join(retire(p.takeIdle(keepPrewarmed)), endTimers())
	// The runner on which endTimers ran is idle now, and has no identity.
	err = errors.Join(err, retire(p.takeIdle(keepPrewarmed)))
	registry.release()
	releaseEntries()
	goroutines.release()
	C.fiberlab_heap_release()

	p.mu.Lock()
	defer p.mu.Unlock()
	for o, stacks := range p.stacks {
		closed := stacks.Close() // refused while stacks are in use
		if closed == nil {
			delete(p.stacks, o)
		} else if stacks.Stats().InUse > 0 {
			stacks.Trim()
		} else {
			err = errors.Join(err, closed)
		}
	}
	return err
}

// takeIdle takes out of the pool all runners that can be ended. If Prewarm's are kept, it leaves as many as Prewarm was
// asked for. Then it takes none while there is a root: that may have come since the drain began.
func (p *pool) takeIdle(keepPrewarmed bool) []*runner {
	p.mu.Lock()
	defer p.mu.Unlock()
	if keepPrewarmed && p.roots.Load() > 0 {
		return nil
	}
	var taken []*runner
	p.idling = 0
	for k, idle := range p.idle {
		if !keepPrewarmed {
			idle.most, idle.prewarmed = DefaultMaxIdle, 0
		}
		var kept []*runner
		for _, r := range idle.runners {
			if r.goexits.Load() > 0 || len(kept) < idle.prewarmed {
				kept = append(kept, r)
			} else {
				taken = append(taken, r)
			}
		}
		idle.runners = kept
		p.count(k, len(kept))
	}
	return taken
}
