package fiber

import "errors"

// retire ends runners on which nothing runs and which no fiber uses. To drop a lent identity
// its goroutine must return to where it began, so a root is needed to enter it.
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
		errs = append(errs, onRoot(Attach, Asm, func(root *Fiber) error { return endServing(root, serving) }))
	}
	return errors.Join(errs...)
}

// endServing has each of rs return from serve.
func endServing(root *Fiber, rs []*runner) error {
	var errs []error
	for _, r := range rs {
		f := &Fiber{name: "retiring", backend: r.kind.backend, runner: r}
		r.load(f, Ready)
		if err := root.SwitchTo(f); err != nil {
			errs = append(errs, err)
			continue
		}
		r.state.Store(f.generation | uint64(Closed))
		r.fiber.Store(nil)
		errs = append(errs, r.free())
	}
	return errors.Join(errs...)
}

// onRoot runs do on a new goroutine, which attach makes a root of backend b, and waits.
func onRoot(attach func(Backend) (*Fiber, error), b Backend, do func(root *Fiber) error) error {
	done := make(chan error, 1)
	go func() {
		root, err := attach(b)
		if err != nil {
			done <- err
			return
		}
		err = do(root)
		done <- errors.Join(err, root.Detach())
	}()
	return <-done
}

// Drain empties the pool. It drops the identities of all idle runners, gives
// their stacks back to the system, deletes the timers that a finished CPU
// profile has left with dropped identities, and sets the pool's limits back to
// DefaultMaxIdle. Hand-switched runners on which a body called runtime.Goexit stay.
// It blocks until all is done, some 10 us for each identity, a microsecond on Goroutine.
func Drain() error {
	p := &runners
	err := errors.Join(retire(p.takeIdle()), endTimers())
	// The runner on which endTimers ran is idle now, and has no identity.
	err = errors.Join(err, retire(p.takeIdle()))

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

// takeIdle takes all runners out of the pool that can be ended.
func (p *pool) takeIdle() []*runner {
	p.mu.Lock()
	defer p.mu.Unlock()
	var rs []*runner
	p.idling = 0
	for k, idle := range p.idle {
		var stranded []*runner
		for _, r := range idle.runners {
			if r.goexits.Load() > 0 {
				stranded = append(stranded, r)
			} else {
				rs = append(rs, r)
			}
		}
		*idle = idleRunners{stranded, DefaultMaxIdle}
		p.count(k, len(stranded))
	}
	return rs
}
