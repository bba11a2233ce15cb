// Package identity is the Go runtime's side of a fiber: the few runtime entry
// points and machine words that let a hand-switched stack pass for a thread.
//
// The Go runtime knows a thread by its per-thread g slot. Go
// assembly can name that slot and the current g; C cannot, and a package that uses cgo may
// not contain Go assembly. That is why this package exists, and
// why only package fiber may import it.
//
// The entry points used here are the ones the runtime keeps stable
// for other programs (its sources list them under go.dev/issue/67401).
package identity

import (
	"unsafe"

	_ "fiberlab/internal/platform"
)

// G returns the address of the calling goroutine's g. It identifies the
// goroutine for as long as that goroutine lives; the runtime reuses the address
// afterwards. It costs about a nanosecond and never blocks.
func G() uintptr

// M returns the address of the M, the runtime's thread, that the calling goroutine
// runs on. The answer holds only while the goroutine is locked to it.
//
//go:linkname M runtime.getm
func M() uintptr

// Words returns the first words of the M at m, as they are while Go runs. They are not read at one
// moment. m must be the caller's.
//
//go:norace
func Words(m uintptr) [WordsOfM]uintptr {
	return **(**[WordsOfM]uintptr)(unsafe.Pointer(&m))
}

// WordsOfG returns the first words of the g at g, which must be the caller's.
//
//go:norace
func WordsOfG(g uintptr) [32]uintptr { return **(**[32]uintptr)(unsafe.Pointer(&g)) }

// WordsOfM is how many words Words returns. An M has more.
const WordsOfM = 64

//go:linkname cgocall runtime.cgocall
//go:noescape
func cgocall(fn, arg unsafe.Pointer) int32

// Call runs the C function fn(arg) as an ordinary cgo call. The calling goroutine keeps its P
// within reach while fn runs, and takes it back at almost no cost if no other goroutine has needed
// it. arg must not point into the Go heap or a Go stack. The race detector takes all cgo calls for
// ordered, so it sees the order that a switch establishes.
func Call(fn, arg unsafe.Pointer) { cgocall(fn, arg) }

// stackBound is the C function by which the runtime asks for the bounds of the
// C stack on which a thread first enters Go: void (*)(uintptr_t bounds[2]).
//
//go:linkname stackBound _cgo_getstackbound
var stackBound unsafe.Pointer

// SetStackBound makes fn, a C function void (*)(uintptr_t bounds[2]), the one
// that tells the runtime the lowest and highest address of the C stack that it was called
// on. Call it once, before any C thread enters Go through this package.
func SetStackBound(fn unsafe.Pointer) { stackBound = fn }

// bind is the C function that the runtime calls on a thread that C made when it has lent the thread an M:
// void (*)(void *g).
//
//go:linkname bind _cgo_bindm
var bind unsafe.Pointer

// SetBind makes fn, a C function void (*)(void *g), the one that the runtime calls when it has lent a thread an M. It
// calls fn on the thread's C stack, with the M's g. fn must see to it that the M is dropped when its borrower ends.
// Call SetBind once, before the first fiber enters Go.
func SetBind(fn unsafe.Pointer) { bind = fn }

// SetProfLabels gives the calling goroutine the profiler labels at p, which is nil or points to
// the runtime's form of a set of labels.
//
//go:linkname SetProfLabels runtime/pprof.runtime_setProfLabel
func SetProfLabels(p unsafe.Pointer)

// ProfLabels returns the calling goroutine's profiler labels.
//
//go:linkname ProfLabels runtime/pprof.runtime_getProfLabel
func ProfLabels() unsafe.Pointer
