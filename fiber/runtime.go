package fiber

/*
#include "core.h"

typedef uintptr_t (*slot_reader)(void);
static int find_slot(uintptr_t reader) { return fiberlab_find_slot((slot_reader)reader); }
static int verify_slot(uintptr_t reader) { return fiberlab_verify_slot((slot_reader)reader); }
*/
import "C"

import (
	"fmt"
	"go/version"
	"os"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"fiberlab/fiber/internal/identity"
)

// The Go releases on which this package is tested. It leans on things that a
// release may change without notice: the g slot, the lending of extra Ms and the
// way they are dropped.
const (
	OldestGo = "go1.24"
	NewestGo = "go1.26"
)

// EnvRuntime names the environment variable that, set to "try", lets a release of
// Go through that this package was not tested on.
const EnvRuntime = "FIBERLAB_RUNTIME"

// runtimeVersion stands in for the runtime's own version if it is set when the
// program is linked: -ldflags '-X fiberlab/fiber.runtimeVersion=go1.99'.
var runtimeVersion string

// Supported returns nil if fibers can be switched by hand under the running Go
// runtime, and an error that wraps ErrUnsupported if not. The first call finds
// out; it takes a few microseconds and starts a thread.
func Supported() error { return support() }

var support = sync.OnceValue(func() error {
	v := runtimeVersion
	if v == "" {
		v = runtime.Version()
	}
	if err := knownRelease(v, os.Getenv(EnvRuntime)); err != nil {
		return err
	}
	if err := findWords(); err != nil {
		return fmt.Errorf("%w: %s: %v", ErrUnsupported, v, err)
	}
	identity.SetStackBound(unsafe.Pointer(C.fiberlab_stack_bound))
	if errno := C.fiberlab_watch_overflow(); errno != 0 {
		return fmt.Errorf("%w: sigaction: %v", ErrUnsupported, unix.Errno(errno))
	}
	if errno := C.fiberlab_watch_preemption(); errno != 0 {
		return fmt.Errorf("%w: sigaction: %v", ErrUnsupported, unix.Errno(errno))
	}
	currentOffset.Store(uintptr(C.fiberlab_current_index_offset()))
	rootOffset.Store(uintptr(C.fiberlab_root_index_offset()))
	return nil
})

// knownRelease checks version v against the tested range; override is the value
// of EnvRuntime.
func knownRelease(v, override string) error {
	number, _, _ := strings.Cut(v, " ") // experiments may follow, as in go1.26.1 X:jsonv2
	number, _, _ = strings.Cut(number, "-X:")
	release := version.Lang(number)
	if override == "try" || release != "" && version.Compare(release, OldestGo) >= 0 && version.Compare(release, NewestGo) <= 0 {
		return nil
	}
	return fmt.Errorf("%w %s: fiberlab is tested on %s to %s; use one of these, or set %s=try at your own risk",
		ErrUnsupported, v, OldestGo, NewestGo, EnvRuntime)
}

// findWords finds the g slot on one thread and makes sure of it on another, and
// likewise the words of the runtime's M that fibers can do without.
func findWords() error {
	reader := C.uintptr_t(identity.SlotReader())
	type answer struct {
		hits   int
		thread uintptr
	}
	found, verified := make(chan answer), make(chan answer)
	hold := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		C.fiberlab_find_tid(C.uintptr_t(identity.M()))
		hits := int(C.find_slot(reader))
		handsOnP = hits == 1 && compareM(func(m C.uintptr_t, then *C.uintptr_t) C.int { return C.fiberlab_find_p(m, then) })
		found <- answer{hits, uintptr(C.fiberlab_thread_pointer())}
		<-hold // so that the other goroutine cannot be on this thread
	}()
	first := <-found
	defer close(hold)
	if first.hits != 1 {
		return fmt.Errorf("the runtime's g slot was found %d times in thread-local storage, not once", first.hits)
	}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		C.fiberlab_verify_tid(C.uintptr_t(identity.M()))
		hits := int(C.verify_slot(reader))
		if hits == 1 && handsOnP && compareM(func(m C.uintptr_t, then *C.uintptr_t) C.int { return C.fiberlab_verify_p(m, then) }) {
			C.fiberlab_use_p(1)
		} else {
			handsOnP = false
		}
		verified <- answer{hits, uintptr(C.fiberlab_thread_pointer())}
	}()
	if second := <-verified; second.hits != 1 || second.thread == first.thread {
		return fmt.Errorf("the runtime's g slot is not where it was on another thread")
	}
	return nil
}

// handsOnP tells whether switches hand on the P: see processor.c. It is set before
// Supported first returns.
var handsOnP bool

// compareM lets look, a C function, compare the calling thread's M while C runs with
// what it was while Go ran. The goroutine is locked to its thread, but may be given
// another P between the two, and then look finds nothing: it is tried again.
func compareM(look func(m C.uintptr_t, then *C.uintptr_t) C.int) bool {
	for range 100 {
		m := identity.M()
		var then [C.FIBERLAB_SEARCHED_M]uintptr = identity.Words(m)
		if look(C.uintptr_t(m), (*C.uintptr_t)(unsafe.Pointer(&then[0]))) != 0 {
			return true
		}
	}
	return false
}
