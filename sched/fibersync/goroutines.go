package fibersync

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
)

// onGoroutine is told of goroutines that take the place of tasks; nil: as described at OnGoroutine.
var onGoroutine atomic.Pointer[func(call string)]

// told is whether the line has been written.
var warned atomic.Bool

// OnGoroutine has f called each time that a function of this package which starts tasks, as Parallelize,
// Async and WaitGroup.Go do, starts goroutines instead, for its caller has no scheduler or that accepts no
// task. f is given the function and the place of its call; it runs on the caller and may not
// block. A nil f says that goroutines are meant: nobody is told.
//
// As long as OnGoroutine has not been called, one line goes to stderr, the first time.
func OnGoroutine(f func(call string)) {
	if f == nil {
		f = func(string) {}
	}
	onGoroutine.Store(&f)
}

// tellOfGoroutine says that a goroutine takes the place of a task that the caller has asked for.
func reportGoroutine() {
	if f := onGoroutine.Load(); f != nil {
		(*f)(callSite())
	} else if !warned.Load() && !warned.Swap(true) {
		fmt.Fprintf(os.Stderr, "fiberlab: %s: no scheduler takes tasks of the caller, so goroutines run what it starts: "+
			"call it in sched.Run or in a task, or call fibersync.OnGoroutine(nil) if goroutines are meant\n", callSite())
	}
}

// callHere names the function of this package that has been called from outside, and the place of the call.
func callSite() string {
	var pcs [32]uintptr
	call := ""
	for walk := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])]); ; {
		f, more := walk.Next()
		name, own := strings.CutPrefix(f.Function, "fiberlab/sched/")
		if !own || !strings.HasPrefix(name, "fibersync.") {
			return fmt.Sprintf("%s, called in %s:%d", call, f.File, f.Line)
		}
		if call = strings.ReplaceAll(name, "[...]", ""); !more {
			return call
		}
	}
}
