package fiber

import (
	"fmt"
	"iter"
	"runtime/debug"

	"fiberlab/fiber/internal/identity"
)

// The life of a coroutine: start, live, end.

// goexited is the panic that ends a coroutine whose body called Goexit.
type goexited struct{}

// start makes the goroutine of r's coroutine, which waits in the handle that comes
// with it. The runtime ties both to the thread of a driver root that is locked.
func (co *coroutine) start(r *runner) {
	if co.root.locked {
		co.pin.Store(co.root)
		co.root.pinned++
	}
	co.own = resumeHandle{}
	co.in = &co.own
	co.own.resume, _ = iter.Pull(func(yield func(struct{}) bool) {
		co.own.yield = yield
		co.live(r)
	})
}

// live is what the goroutine of a coroutine does: it runs the bodies of the fibers
// that r is loaded with, one for each time that it is entered.
func (co *coroutine) live(r *runner) {
	g := identity.G()
	co.g.Store(g)
	goroutines.insert(g, r)
	runners.identities.Add(1)
	r.listForDump()
	defer func() {
		r.unlistForDump()
		runners.identities.Add(-1)
		goroutines.remove(g)
		co.g.Store(0)
		if pin := co.pin.Load(); pin != nil {
			pin.pinned--
			co.pin.Store(nil)
		}
		co.in, co.ending = nil, false
	}()
	co.root.arrive()
	for !co.ending {
		r.run(r.fiber.Load())
		co.root.lock.restore(g)
		co.finish(r)
	}
}

// goexit is called by the deferred function when the body has called Goexit, and
// lets it end the goroutine. By iter.Pull, the goroutine that waits in the coroutine's handle then
// would end as well; a panic takes the place of that, and end recovers it.
func (co *coroutine) goexit(r *runner) {
	co.spent = true
	co.root.lock.restore(identity.G())
	co.finish(r)
	panic(goexited{})
}

// die ends the program because the body of f panicked with v. By iter.Pull, a panic would carry over to the
// goroutine that waits in the coroutine's handle, and lose the frames that panicked.
func (co *coroutine) die(f *Fiber, v any) {
	trace := debug.Stack()
	go func() { panic(fmt.Sprintf("fiber %q panicked: %v\n\n%s", f.name, v, trace)) }()
	select {}
}

// end ends the goroutine of a coroutine that has finished and that no fiber uses. The caller
// may be any goroutine, but must be tied to the same thread, or to none.
func (co *coroutine) end() {
	defer func() {
		if v := recover(); v != nil && v != (goexited{}) {
			panic(v)
		}
	}()
	co.ending = true
	if co.own.yieldDue {
		co.own.yield(struct{}{})
	} else {
		co.own.resume()
	}
}

// endUnpinned is end for coroutines that are not pinned. Its caller may be tied to a
// thread, as by a callback from C, and waits for a goroutine that is not.
func endUnpinned(cos ...*coroutine) {
	done := make(chan struct{})
	go func() {
		for _, co := range cos {
			co.end()
		}
		close(done)
	}()
	<-done
}
