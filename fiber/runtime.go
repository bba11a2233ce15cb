package fiber

/*
#include "core.h"

typedef uintptr_t (*slot_reader)(void);
static int find_slot(uintptr_t reader) { return fiberlab_find_slot((slot_reader)reader); }
static int verify_slot(uintptr_t reader) { return fiberlab_verify_slot((slot_reader)reader); }
*/
import "C"

import (
	"errors"
	"fmt"
	"go/version"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"fiberlab/fiber/internal/identity"
)

// The oldest and the newest Go release on which all tests are run.
const (
	OldestGo = "go1.24"
	NewestGo = "go1.27"
)

// EnvRuntime names the environment variable that, set to "try", silences the line about a
// release of Go that fiberlab was not tested on.
const EnvRuntime = "FIBERLAB_RUNTIME"

// runtimeVersion stands in for the runtime's own version if it is set when the
// program is linked: -ldflags '-X fiberlab/fiber.runtimeVersion=go1.99'.
var runtimeVersion string

// hasGlibc reports whether the program is built with glibc. Fibers are switched by hand only there: musl has no
// swapcontext, and other C libraries were not tried.
const hasGlibc = C.FIBERLAB_HAS_GLIBC != 0

// Supported returns nil if fibers can be switched by hand under the running Go
// runtime, and an error that wraps ErrUnsupported if not. With another C library than glibc they cannot.
//
// Fibers rely on behaviour that a release of Go may change without notice. Supported probes it:
// the g slot, the lending, binding and dropping of an M, and interruption. The error names
// the probe that failed. The remembered P matters for speed only. If it is not found,
// a fiber's first entry takes some 100 us and up to 10 ms, and a line on standard
// error says so. A line also says so if the release is outside OldestGo to NewestGo.
//
// The first call runs the probes. It takes 1 to 4 ms, or 10 to 30 ms if GOMAXPROCS is 1, stops the
// world for a moment and starts threads. During package initialisation, when no C code can
// call Go, Supported looks for the g slot and the remembered P only. If memory is short, the error does not
// wrap ErrUnsupported, and the next call runs the probes again.
func Supported() error {
	if known.Load() {
		return nil
	}
	if err := supportedWords(); err != nil || initializing() {
		return err
	}
	probing.Lock()
	defer probing.Unlock()
	if refusal == nil && !known.Load() {
		return supportedLife()
	}
	return refusal
}

// known is set when every probe has passed.
var known atomic.Bool

// probing is held while a fiber's life is tried out.
var probing sync.Mutex

// refusal says which probe of a fiber's life has failed. probing protects it.
var refusal error

var supportedWords = sync.OnceValue(func() error {
	if !hasGlibc {
		return fmt.Errorf("%w: %s: build with glibc, or use the backend goroutine", ErrUnsupported, otherLibrary)
	}
	if identity.SlotReader() == 0 {
		return fmt.Errorf(
			"%w: nothing reads the g slot on %s: use the backend goroutine", ErrUnsupported, runtime.GOARCH,
		)
	}
	if err := findWords(); err != nil {
		return unsupported(err)
	}
	identity.SetStackBound(unsafe.Pointer(C.fiberlab_stack_bound))
	if planted != probeBinding {
		identity.SetBind(unsafe.Pointer(C.fiberlab_bind))
	}
	if errno := C.fiberlab_watch_overflow(); errno != 0 {
		return unsupported(fmt.Errorf("sigaction: %w", unix.Errno(errno)))
	}
	if errno := C.fiberlab_watch_quit(); errno != 0 {
		return unsupported(fmt.Errorf("sigaction: %w", unix.Errno(errno)))
	}
	if errno := C.fiberlab_watch_preemption(); errno != 0 {
		return unsupported(fmt.Errorf("sigaction: %w", unix.Errno(errno)))
	}
	findHandover()
	currentOffset.Store(uintptr(C.fiberlab_current_index_offset()))
	rootOffset.Store(uintptr(C.fiberlab_root_index_offset()))
	return nil
})

// supportedLife tries out a fiber's life, and keeps the verdict. A shortage is none. The caller holds probing.
func supportedLife() error {
	err := tryLife()
	if errors.As(err, new(verdict)) {
		refusal = unsupported(err)
		return refusal
	}
	if err != nil {
		return fmt.Errorf("this Go runtime could not be tried out: %w", err)
	}
	known.Store(true)
	if doubts := doubts(goVersion(), handsOnP); doubts != "" && os.Getenv(EnvRuntime) != "try" {
		fmt.Fprintf(os.Stderr, "fiberlab: %s (%s=try silences this line)\n", doubts, EnvRuntime)
	}
	return nil
}

func unsupported(err error) error {
	return fmt.Errorf(
		"%w: %s: %w: build with %s to %s, or use the backend goroutine",
		ErrUnsupported, goVersion(), err, OldestGo, NewestGo,
	)
}

func goVersion() string {
	if runtimeVersion != "" {
		return runtimeVersion
	}
	return runtime.Version()
}

// doubts returns what the user should know about Go release v, in which the remembered P was
// found or not; it is empty if nothing is wrong.
func doubts(v string, foundP bool) string {
	var all []string
	if !tested(v) {
		warning := fmt.Sprintf("%s passes the probes, but fiberlab is tested on %s to %s", v, OldestGo, NewestGo)
		all = append(all, warning)
	}
	if !foundP {
		all = append(all, "the remembered P was not found in "+v+": each fiber's first entry waits for up to 10 ms")
	}
	return strings.Join(all, "; ")
}

// tested reports whether v, a version of Go, is of a tested release.
func tested(v string) bool {
	number, _, _ := strings.Cut(v, " ") // experiments may follow, as in go1.26.1 X:jsonv2
	number, _, _ = strings.Cut(number, "-X:")
	release := version.Lang(number)
	return release != "" && version.Compare(release, OldestGo) >= 0 && version.Compare(release, NewestGo) <= 0
}

// initializing reports whether packages are being initialised: by the caller, or by another
// goroutine, which may be waiting for it. Of another goroutine it sees the innermost 32 calls.
func initializing() bool {
	all := make([]runtime.StackRecord, runtime.NumGoroutine()+16)
	n, whole := runtime.GoroutineProfile(all)
	for !whole {
		all = make([]runtime.StackRecord, n+16)
		n, whole = runtime.GoroutineProfile(all)
	}
	own := make([]uintptr, 64)
	depth := runtime.Callers(0, own)
	for depth == len(own) { // a record has the innermost 32 frames only
		own = make([]uintptr, 2*len(own))
		depth = runtime.Callers(0, own)
	}
	return calledByInit(own[:depth]) ||
		slices.ContainsFunc(all[:n], func(r runtime.StackRecord) bool { return calledByInit(r.Stack()) })
}

// calledByInit reports whether package initialisation is among those callers.
func calledByInit(callers []uintptr) bool {
	frames := runtime.CallersFrames(callers)
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		if strings.HasPrefix(frame.Function, "runtime.doInit") {
			return true
		}
	}
	return false
}

// findWords finds the g slot on one thread and verifies it on another, and
// likewise the words of the runtime's M that fibers can do without.
func findWords() error {
	reader := C.uintptr_t(identity.SlotReader())
	if planted == probeSlot {
		reader = C.uintptr_t(uintptr(C.fiberlab_thread_pointer))
	}
	type answer struct {
		hits   int
		thread uintptr
	}
	found, verified := make(chan answer), make(chan answer)
	hold := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		C.fiberlab_narrow_tid(C.uintptr_t(identity.M()))
		C.fiberlab_find_mark(C.uintptr_t(identity.M()))
		hits := int(C.find_slot(reader))
		handsOnP = hits == 1 &&
			compareM(func(m C.uintptr_t, then *C.uintptr_t) C.int { return C.fiberlab_find_p(m, then) })
		found <- answer{hits, uintptr(C.fiberlab_thread_pointer())}
		<-hold // so that the other goroutine cannot be on this thread
	}()
	first := <-found
	defer close(hold)
	if first.hits != 1 {
		return fmt.Errorf("%s: %d words of thread-local storage are read as it, not one", probeSlot, first.hits)
	}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		C.fiberlab_narrow_tid(C.uintptr_t(identity.M()))
		C.fiberlab_verify_mark(C.uintptr_t(identity.M()))
		hits := int(C.verify_slot(reader))
		if hits == 1 && handsOnP &&
			compareM(func(m C.uintptr_t, then *C.uintptr_t) C.int { return C.fiberlab_verify_p(m, then) }) {
			C.fiberlab_use_p(1)
		} else {
			handsOnP = false
		}
		verified <- answer{hits, uintptr(C.fiberlab_thread_pointer())}
	}()
	if second := <-verified; second.hits != 1 || second.thread == first.thread {
		return fmt.Errorf("%s: it is not where it was on another thread", probeSlot)
	}
	return nil
}

// handsOnP reports whether switches hand on the P: see processor.c. It is set before
// Supported first returns.
var handsOnP bool

// compareM has look, a C function, compare the calling thread's M while C runs with
// its words while Go ran. The goroutine is locked to its thread, but may be given
// another P between the two, and then look finds nothing: compareM tries again.
func compareM(look func(m C.uintptr_t, then *C.uintptr_t) C.int) bool {
	for range 100 {
		m := identity.M()
		var then [C.FIBERLAB_SEARCHED_M]uintptr = identity.Words(m)
		if planted == probeP {
			clear(then[:])
		}
		if look(C.uintptr_t(m), (*C.uintptr_t)(unsafe.Pointer(&then[0]))) != 0 {
			return true
		}
	}
	return false
}
