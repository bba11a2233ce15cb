package fiber

/*
#include "core.h"
*/
import "C"

import (
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"fiberlab/fiber/internal/identity"
)

// A dump of goroutines (SIGQUIT) does not know which of them are fibers. So each carrier has, while a
// goroutine serves it, an entry in memory of C from which a signal handler can tell: see dump.c.

var entries struct {
	mu   sync.Mutex
	free []*C.struct_fiberlab_entry
}

// watchDump puts the table before Go's dump. Without it the dump has no names, and all else works.
var watchDump = sync.OnceFunc(func() { C.fiberlab_watch_dump() })

// enlist gives c an entry, whose goroutine is the caller.
func (c *carrier) enlist() {
	watchDump()
	entries.mu.Lock()
	var e *C.struct_fiberlab_entry
	if n := len(entries.free); n > 0 {
		e = entries.free[n-1]
		entries.free = entries.free[:n-1]
	}
	entries.mu.Unlock()
	if e == nil {
		e = C.fiberlab_entry_new()
	}
	if e == nil {
		return
	}
	e.goroutine = C.uint64_t(goroutineNumber())
	c.entry = e
	c.describe(c.fiber.Load())
	atomic.StoreUintptr((*uintptr)(unsafe.Pointer(&e.state)), uintptr(unsafe.Pointer(c.state)))
}

// strike takes the entry away.
func (c *carrier) strike() {
	e := c.entry
	if e == nil {
		return
	}
	atomic.StoreUintptr((*uintptr)(unsafe.Pointer(&e.state)), 0)
	c.entry = nil
	entries.mu.Lock()
	entries.free = append(entries.free, e)
	entries.mu.Unlock()
}

// describe writes the name of f, which c carries, into the entry.
func (c *carrier) describe(f *Fiber) {
	e := c.entry
	if e == nil || f == nil {
		return
	}
	e.task = nil
	name := unsafe.Slice((*byte)(unsafe.Pointer(&e.name)), len(e.name))
	name[copy(name[:len(name)-1], f.name)] = 0
}

// Task is where a fiber says what it runs, for the dump of goroutines. The zero value says nothing to
// anybody.
type Task struct {
	code uintptr  // of the function that it has said last, 0 for none
	word *uintptr // where a dump looks for its name
}

// Task returns that of the fiber f, which must be the caller. Nobody else may use it.
func (f *Fiber) Task() Task {
	if f == nil || f.carrier == nil || f.carrier.entry == nil {
		return Task{}
	}
	return Task{word: (*uintptr)(unsafe.Pointer(&f.carrier.entry.task))}
}

// Begin says that the fiber runs the function f from now on. If that is what it has said before it costs less
// than a nanosecond, else some, and more when the program names that function for the first time.
func (t *Task) Begin(f func()) {
	if code := **(**uintptr)(unsafe.Pointer(&f)); code != t.code {
		t.change(code)
	}
}

// End says that the fiber runs none.
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

// taskName is the name of a function, as C reads it. It is never freed: a program has so many functions.
type taskName struct {
	code, text uintptr
}

var (
	taskNames   [1024]atomic.Pointer[taskName] // those that were used last
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

// goroutineNumber is the calling goroutine's, as dumps print it.
func goroutineNumber() uint64 {
	if at := numberOffset(); at != 0 {
		return *(*uint64)(pointer(identity.G() + uintptr(at)))
	}
	return readNumber()
}

// readNumber reads it at the head of a stack trace, "goroutine 7 [running]", where alone the runtime tells.
func readNumber() uint64 {
	var buf [64]byte
	fields := strings.Fields(string(buf[:runtime.Stack(buf[:], false)]))
	if len(fields) < 2 {
		return 0
	}
	n, _ := strconv.ParseUint(fields[1], 10, 64)
	return n
}

// numberOffset is where a g has its number, in bytes, or 0 if that is not known. It is found by its
// value, on several goroutines.
var numberOffset = sync.OnceValue(func() int {
	const wordSize, goroutines = 8, 4
	hits := make([]int, residueOffsets().labels/wordSize)
	done := make(chan struct{})
	for range goroutines {
		go func() {
			defer func() { done <- struct{}{} }()
			g, number := identity.G(), uintptr(readNumber())
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
