package fiber

/*
#include "core.h"
*/
import "C"

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"fiberlab/fiber/internal/identity"
	"fiberlab/internal/goroutine"
)

// A dump of goroutines (SIGQUIT) does not know which of them are fibers. So each runner has, while a
// goroutine serves it, an entry in memory of C that a signal handler reads: see dump.c.

var entries = struct {
	mu sync.Mutex
	slabs
}{slabs: slabs{size: unsafe.Sizeof(C.struct_fiberlab_entry{})}}

// watchDump has the table written before Go's dump. If that fails, the dump has no names, and all else works.
var watchDump = sync.OnceFunc(func() { C.fiberlab_watch_dump() })

// listForDump gives r an entry. The caller is the goroutine that serves r.
func (r *runner) listForDump() {
	watchDump()
	entries.mu.Lock()
	memory, number, newSlab := entries.take()
	e := (*C.struct_fiberlab_entry)(memory)
	if newSlab && C.fiberlab_add_entries(e, C.size_t(entries.perSlab())) == 0 {
		memory = nil // all entries of this slab remain unseen
	}
	entries.mu.Unlock()
	if memory == nil {
		return
	}
	e.goroutine = C.uint64_t(GoroutineNumber())
	r.entry, r.entryNumber = e, number
	r.describe(r.fiber.Load())
	atomic.StoreUintptr((*uintptr)(unsafe.Pointer(&e.state)), uintptr(unsafe.Pointer(r.state)))
}

// unlistForDump takes the entry away.
func (r *runner) unlistForDump() {
	e := r.entry
	if e == nil {
		return
	}
	atomic.StoreUintptr((*uintptr)(unsafe.Pointer(&e.state)), 0)
	r.entry = nil
	entries.mu.Lock()
	entries.put(r.entryNumber)
	entries.mu.Unlock()
}

// releaseEntries gives back the pages of entries that are not in use.
func releaseEntries() {
	entries.mu.Lock()
	defer entries.mu.Unlock()
	entries.release(nil)
}

// describe writes the name of f, which r runs, into the entry.
func (r *runner) describe(f *Fiber) {
	e := r.entry
	if e == nil || f == nil {
		return
	}
	e.task = nil
	name := unsafe.Slice((*byte)(unsafe.Pointer(&e.name)), len(e.name))
	name[copy(name[:len(name)-1], f.name)] = 0
}

// Task records what a fiber runs, for the dump of goroutines. The zero value records nothing.
type Task struct {
	code uintptr  // of the function recorded last, 0 for none
	word *uintptr // where a dump looks for its name
}

// Task returns the record of the fiber f, which must be the caller. Only f may use it, on any thread.
func (f *Fiber) Task() Task {
	if f == nil || f.runner == nil || f.runner.entry == nil {
		return Task{}
	}
	return Task{word: (*uintptr)(unsafe.Pointer(&f.runner.entry.task))}
}

// Begin records that the fiber runs the function f from now on. It costs less than a nanosecond if f is recorded
// already, else a few, and more when the program records that function for the first time.
func (t *Task) Begin(f func()) {
	if code := **(**uintptr)(unsafe.Pointer(&f)); code != t.code {
		t.change(code)
	}
}

// End records that the fiber runs none.
func (t *Task) End() {
	if t.code != 0 {
		t.change(0)
	}
}

func (t *Task) change(code uintptr) {
	t.code = code
	if t.word == nil {
		return
	}
	if code == 0 {
		*t.word = 0
		return
	}
	name := taskNames[code>>5%uintptr(len(taskNames))].Load()
	if name == nil || name.code != code {
		name = nameTask(code)
	}
	*t.word = name.text
}

// taskName is the name of a function as a C string. It is never freed: the number of functions is limited.
type taskName struct {
	code, text uintptr
}

var (
	taskNames   [1024]atomic.Pointer[taskName] // a cache, by the function's address
	allTasks    = map[uintptr]*taskName{}
	allTasksMu  sync.Mutex
	nameUnknown = "unknown"
)

func nameTask(code uintptr) *taskName {
	allTasksMu.Lock()
	defer allTasksMu.Unlock()
	name := allTasks[code]
	if name == nil {
		text := nameUnknown
		if f := runtime.FuncForPC(code); f != nil {
			text = f.Name()
		}
		name = &taskName{code, uintptr(unsafe.Pointer(C.CString(text)))}
		allTasks[code] = name
	}
	taskNames[code>>5%uintptr(len(taskNames))].Store(name)
	return name
}

// GoroutineNumber is the number of the goroutine that the caller runs on, as dumps print it. It takes nanoseconds, and
// does not block.
func GoroutineNumber() uint64 {
	if at := numberOffset(); at != 0 {
		return *(*uint64)(pointer(identity.G() + uintptr(at)))
	}
	return goroutine.Number()
}

// numberOffset is the offset of the goroutine's number in a g, in bytes, or 0 if unknown. It is found by the
// number's value, on several goroutines.
var numberOffset = sync.OnceValue(func() int {
	const wordSize, goroutines = 8, 4
	hits := make([]int, residueOffsets().labels/wordSize)
	done := make(chan struct{})
	for range goroutines {
		go func() {
			defer func() { done <- struct{}{} }()
			g, number := identity.G(), uintptr(goroutine.Number())
			for i := range hits {
				if *(*uintptr)(pointer(g + uintptr(i*wordSize))) == number {
					hits[i]++
				}
			}
		}()
		<-done
	}
	at, n := 0, 0
	for i, h := range hits {
		if h == goroutines {
			at = i * wordSize
			n++
		}
	}
	if n != 1 {
		return 0
	}
	return at
})
