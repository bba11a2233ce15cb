package fiber

import "fiberlab/fiber/internal/identity"

// A goroutine that is tied to its thread, as in a callback from C or by runtime.LockOSThread, cannot switch
// to a coroutine that is not tied. The runtime would end the program. If the goroutine's driver root is not
// tied to a thread either, another goroutine can wait in the handle in its place.

// switchLocked is switchCoroutine for a caller that is tied to its thread in another way than its
// driver root. A stand-in goroutine claims to, waits in its handle, and is resumed when f is. Until then the
// caller waits for the stand-in, and keeps its thread. So such a switch costs a goroutine and a channel.
//
// If the driver root is tied to its thread, so are all of its coroutines, and to the very thread that the caller
// cannot leave: then switchLocked returns ErrLocked.
func switchLocked(f, to *Fiber) error {
	r := f.runner
	co := r.co
	if co.root.locked || co.g.Load() != identity.G() {
		return &Error{"switch", to.name, ErrLocked}
	}
	switched := make(chan error)
	go func() {
		d := co.root
		if err := d.enter(to); err != nil {
			switched <- &Error{"switch", to.name, err}
			return
		}
		d.departed, d.departedAs = r, f.generation|uint64(Suspended)
		d.current = to.runner
		co.waitIn(to.runner.co.in)
		if co.deferred != nil {
			co.serveDeferred(r)
		} else {
			co.root.arrive()
		}
		switched <- nil
	}()
	return <-switched
}
