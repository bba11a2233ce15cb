package fiber

/*
#include "core.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"unsafe"

	"fiberlab/fiber/internal/identity"
	"fiberlab/stack"
)

// bodyKind tells apart what a carrier can run.
type bodyKind uint8

const (
	goBody bodyKind = iota
	cBody
)

// kind is what carriers that can stand in for one another have in common.
type kind struct {
	backend Backend
	body    bodyKind
	stack   stack.Options // of its C stack; all zero on Goroutine
}

const (
	stateMask  = 7
	generation = stateMask + 1 // what one generation adds to the state's word
)

// carrier is what a fiber runs on: a stack and a control block, or a coroutine.
// Once a Go body has run on a hand-switched one it has an identity in the Go
// runtime, which is dear (some 10 us and 17 KB), so such a carrier outlives the
// fibers that use it, one after the other. So does a coroutine.
type carrier struct {
	kind    kind
	state   *atomic.Uint64 // State | generation; in the control block, where C changes it too
	fiber   atomic.Pointer[Fiber]
	entered atomic.Bool  // a Go body's: it has begun to serve, so it has an identity to drop
	goexits atomic.Int32 // bodies that ended by Goexit: it can serve but never return

	block  *C.struct_fiberlab_fiber // hand-switched only
	stack  *stack.Stack             // hand-switched only; nil for a root
	stacks *stack.Pool              // where stack came from

	entry *C.struct_fiberlab_entry // in the table of a dump; nil unless a goroutine serves

	co   *coroutine // Goroutine only, its roots too
	host *host      // a root of Goroutine only
}

// mostGoexits is how many bodies on one carrier may end by Goexit: each leaves
// frames behind on its Go stack, under those of the next.
const mostGoexits = 1000

// load makes f the fiber that c carries, in the given state. c is at rest.
func (c *carrier) load(f *Fiber, as State) {
	f.generation = c.state.Load()&^stateMask + generation
	c.fiber.Store(f)
	c.nameBlock(f)
	c.state.Store(f.generation | uint64(as))
}

// nameBlock writes the name of f, which c carries, into the control block, if there is one.
func (c *carrier) nameBlock(f *Fiber) {
	if c.block != nil {
		C.fiberlab_block_name(c.block, (*C.char)(unsafe.Pointer(unsafe.StringData(f.name))), C.size_t(len(f.name)))
	}
}

// unload takes the closed fiber off c.
func (c *carrier) unload() { c.fiber.Store(nil) }

func (c *carrier) setBody(fn, arg unsafe.Pointer) { C.fiberlab_block_body(c.block, fn, arg) }

//export fiberlabServe
func fiberlabServe(index C.uint32_t) {
	c := registry.at(uintptr(index))
	C.fiberlab_lent(c.block, C.uintptr_t(identity.M()), C.uintptr_t(identity.G()))
	// The thread may have been changed for its root, by an affinity for example. The runtime
	// makes no threads in the image of one that is locked.
	runtime.LockOSThread()
	c.serve()
	runtime.UnlockOSThread()
}

// serve runs one fiber's body after the other, until it is given a fiber without
// a body. It runs on the carrier's own stack and goroutine.
func (c *carrier) serve() {
	if !c.entered.Swap(true) {
		carriers.identities.Add(1)
		c.enlist()
	}
	for {
		f := c.fiber.Load()
		if f.body == nil {
			break
		}
		c.run(f)
		c.park()
	}
	c.strike()
	carriers.identities.Add(-1)
}

// run calls the body of f and comes back when that has returned.
func (c *carrier) run(f *Fiber) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if r := recover(); r != nil {
			c.die(f, r)
		}
		if c.co != nil {
			c.co.goexit(c)
		}
		c.goexit()
	}()
	c.describe(f)
	clearResidue() // of the last body, or of the goroutine by which this one was made
	f.body()
	returned = true
}

// die ends the program because the body of f panicked with r. It is called by the
// deferred function, on top of the frames that panicked.
func (c *carrier) die(f *Fiber, r any) {
	if c.co == nil {
		panic(r) // straight to the runtime, whose report shows those frames
	}
	// iter.Pull would carry the panic over to who sits in the seat, and lose them.
	trace := debug.Stack()
	go func() { panic(fmt.Sprintf("fiber %q panicked: %v\n\n%s", f.name, r, trace)) }()
	select {}
}

// goexit is called by the deferred function when a hand-switched body has called
// Goexit. A lent goroutine cannot end by it: to the runtime that is fatal. So Goexit gets
// no further than this call. The carrier serves its next fibers from within it, and
// must never return.
func (c *carrier) goexit() {
	if c.goexits.Add(1) == 1 {
		carriers.stranded.Add(1)
	}
	for {
		c.park()
		c.run(c.fiber.Load())
	}
}

// park finishes the fiber and hands the thread to its root. It returns when c has
// been loaded with another fiber and entered again.
func (c *carrier) park() {
	root := registry.at(rootIndex())
	if err := c.enter(root, root.fiber.Load().generation, Finished); err != nil {
		panic("fiber: a finished fiber found no root to return to: " + err.Error())
	}
}
