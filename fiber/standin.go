package fiber

import "fiberlab/fiber/internal/identity"

// On the Goroutine backend a goroutine that is tied to its thread, as in a callback from C or by
// runtime.LockOSThread, cannot switch to one that is not: the runtime would end the program. If its
// root is not tied to a thread either, another goroutine sits down in its place.

// switchLocked is switchCoroutine for a caller that is tied to its thread in another way than its
// root. The stand-in claims to, sits down, and gets up when somebody switches to f; meanwhile the
// caller waits for it, with its thread. So such a switch costs a goroutine and a channel.
//
// If the root is tied to its thread, so are all of its coroutines, and to the very thread that the caller
// cannot leave: then it cannot be done.
func switchLocked(f, to *Fiber) error {
	c := f.carrier
	co := c.co
	if co.host.locked || co.g.Load() != identity.G() {
		return &Error{"switch", to.name, ErrLocked}
	}
	switched := make(chan error)
	go func() {
		h := co.host
		if err := h.enter(to); err != nil {
			switched <- &Error{"switch", to.name, err}
			return
		}
		h.departed, h.departedAs = c, f.generation|uint64(Suspended)
		h.current = to.carrier
		co.sit(to.carrier.co.in)
		if co.errand != nil {
			co.runErrands(c)
		} else {
			co.host.arrive()
		}
		switched <- nil
	}()
	return <-switched
}
