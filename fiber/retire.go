package fiber

import "errors"

// retire ends carriers that are at rest and belong to nobody. To drop a lent identity
// its goroutine must return to where it began, so a root is needed to enter it.
func retire(cs []*carrier) error {
	var serving []*carrier
	var resting []*coroutine
	var errs []error
	for _, c := range cs {
		if c.co != nil {
			resting = append(resting, c.co)
		} else if c.entered.Load() {
			serving = append(serving, c)
		} else {
			errs = append(errs, c.scrap())
		}
	}
	if len(resting) > 0 {
		endUnpinned(resting...)
	}
	if len(serving) > 0 {
		errs = append(errs, onRoot(Asm, func(root *Fiber) error { return dismiss(root, serving) }))
	}
	return errors.Join(errs...)
}

// dismiss lets each of cs return from serve.
func dismiss(root *Fiber, cs []*carrier) error {
	var errs []error
	for _, c := range cs {
		f := &Fiber{name: "retiring", backend: c.kind.backend, carrier: c}
		c.load(f, Ready)
		if err := root.SwitchTo(f); err != nil {
			errs = append(errs, err)
			continue
		}
		c.state.Store(f.generation | uint64(Closed))
		c.unload()
		errs = append(errs, c.scrap())
	}
	return errors.Join(errs...)
}

// onRoot runs do on a goroutine of its own that is a root for as long, and waits.
func onRoot(b Backend, do func(root *Fiber) error) error { return onRootBy(Attach, b, do) }

// onRootBy is onRoot where attach makes the root.
func onRootBy(attach func(Backend) (*Fiber, error), b Backend, do func(root *Fiber) error) error {
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

// Drain empties the pool: it drops the identities of all idle carriers, deletes the timers that a CPU
// profile which is over has left with any that were dropped, gives
// their stacks back to the system and sets the pool's bounds back to
// DefaultMaxIdle. Hand-switched carriers on which a body called runtime.Goexit stay.
// It blocks until all is done, some 10 us for each identity, a microsecond on Goroutine.
func Drain() error {
	p := &carriers
	err := errors.Join(retire(p.takeIdle()), endTimers())
	// The carrier that ended the timers is idle now, and has no identity.
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

// takeIdle takes all carriers out of the pool that can be ended.
func (p *pool) takeIdle() []*carrier {
	p.mu.Lock()
	defer p.mu.Unlock()
	var cs []*carrier
	p.idling = 0
	for k, idle := range p.idle {
		var stranded []*carrier
		for _, c := range idle.carriers {
			if c.goexits.Load() > 0 {
				stranded = append(stranded, c)
			} else {
				cs = append(cs, c)
			}
		}
		*idle = idlers{stranded, DefaultMaxIdle}
		p.count(k, len(stranded))
	}
	return cs
}
