package fiber

/*
#include "core.h"
*/
import "C"

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	"fiberlab/fiber/internal/identity"
	"fiberlab/stack"
)

// bodyKind tells apart what a runner can run.
type bodyKind uint8

const (
	goBody bodyKind = iota
	cBody
)

// kind is what interchangeable runners have in common.
type kind struct {
	backend Backend
	body    bodyKind
	stack   stack.Options // of its C stack; all zero on Goroutine
}

const (
	stateMask  = 7
	generation = stateMask + 1 // what one generation adds to the state's word
)

// runner is what a fiber runs on: a stack and a control block, or a coroutine.
// Once a Go body has run on a hand-switched one it has an identity in the Go runtime, which
// is expensive (some 10 us and 17 KB). So such a runner outlives the fibers that use it, one
// after the other. So does a coroutine.
type runner struct {
	kind    kind
	state   *atomic.Uint64 // State | generation; in the control block, where C changes it too
	fiber   atomic.Pointer[Fiber]
	entered atomic.Bool  // a Go body's: it has begun to serve, so it has an identity to drop
	goexits atomic.Int32 // bodies that ended by Goexit: it can serve but never return

	block  *C.struct_fiberlab_fiber // hand-switched only
	stack  *stack.Stack             // hand-switched only; nil for a root
	stacks *stack.Pool              // where stack came from

	entry       *C.struct_fiberlab_entry // in the table of a dump; nil unless a goroutine serves
	entryNumber uint32

	co     *coroutine  // Goroutine only, its roots too
	driver *driverRoot // a root of Goroutine only
}

// maxGoexits is how many bodies on one runner may end by Goexit: each leaves
// frames behind on its Go stack, under the frames of the next.
const maxGoexits = 1000

// load makes f the fiber that r runs, in the given state. Nothing runs on r.
func (r *runner) load(f *Fiber, as State) {
	f.generation = r.state.Load()&^stateMask + generation
	r.fiber.Store(f)
	r.nameBlock(f)
	r.state.Store(f.generation | uint64(as))
}

// nameBlock writes the name of f, which r runs, into the control block, if there is one.
func (r *runner) nameBlock(f *Fiber) {
	if r.block != nil {
		C.fiberlab_block_name(r.block, (*C.char)(unsafe.Pointer(unsafe.StringData(f.name))), C.size_t(len(f.name)))
	}
}

// setBody makes fn(arg) what r's C stack runs, or a Go body if fn is nil.
func (r *runner) setBody(fn, arg unsafe.Pointer) { C.fiberlab_block_body(r.block, fn, arg) }

//export fiberlabServe
func fiberlabServe(index C.uint32_t) {
	r := registry.at(uintptr(index))
	C.fiberlab_lent(r.block, C.uintptr_t(identity.M()), C.uintptr_t(identity.G()))
	// The thread may have been changed for its root, by an affinity for example. The runtime
	// makes no threads in the image of a locked thread.
	runtime.LockOSThread()
	r.serve()
	runtime.UnlockOSThread()
	C.fiberlab_identity_block_signals()
}

// serve runs one fiber's body after the other, until it is given a fiber without
// a body. It runs on the runner's own stack and goroutine.
func (r *runner) serve() {
	if !r.entered.Swap(true) {
		runners.identities.Add(1)
		r.listForDump()
	}
	for {
		f := r.fiber.Load()
		if f.body == nil {
			break
		}
		r.run(f)
		r.leaveFinished()
	}
	r.unlistForDump()
	runners.identities.Add(-1)
}

// run calls the body of f and comes back when that has returned.
func (r *runner) run(f *Fiber) {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		switch {
		case v != nil && r.co != nil:
			r.co.die(f, v)
		case v != nil:
			panic(v) // straight to the runtime, whose report shows the frames that panicked
		case r.co != nil:
			r.co.goexit(r)
		default:
			r.goexit()
		}
	}()
	r.describe(f)
	clearResidue() // of the last body, or of the goroutine by which this one was made
	f.body()
	returned = true
}

// goexit is called by the deferred function when a hand-switched body has called
// Goexit. A lent goroutine cannot end by it: to the runtime that is fatal. So Goexit gets
// no further than this call. The runner serves its next fibers from within it, and
// must never return.
func (r *runner) goexit() {
	if r.goexits.Add(1) == 1 {
		runners.stranded.Add(1)
	}
	for {
		r.leaveFinished()
		r.run(r.fiber.Load())
	}
}

// leaveFinished finishes the fiber and hands the thread to its root. It returns when r has
// been loaded with another fiber and entered again.
func (r *runner) leaveFinished() {
	root := registry.at(rootIndex())
	if err := r.enter(root, root.fiber.Load().generation, Finished); err != nil {
		panic("fiber: a finished fiber found no root to return to: " + err.Error())
	}
}

// unusedBelow returns the address below which nothing on the stack of r, whose fiber is
// closed, is needed any more. A C body leaves nothing behind. The goroutine of a Go body
// comes back to where it waits for the next one.
func (r *runner) unusedBelow() uintptr {
	if r.kind.body == cBody {
		return r.stack.Hi()
	}
	return uintptr(C.fiberlab_block_sp(r.block))
}
