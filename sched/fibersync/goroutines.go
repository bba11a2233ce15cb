package fibersync

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
)

// onGoroutine is called when a goroutine takes the place of a task, unless the function is nil; nil: write a line,
// once.
var onGoroutine atomic.Pointer[func(call string)]

// warned is set when that line has been written.
var warned atomic.Bool

// OnGoroutine has f called whenever a function that starts tasks, such as Parallelize, Async or WaitGroup.Go, starts
// goroutines instead. It does so if its caller has no scheduler, or if the scheduler does not accept the task. Without
// a scheduler that is once for each call. f gets the name of that function and the place of its call; it runs on the
// caller and must not block. A nil f declares that goroutines are intended: nothing is reported.
//
// As long as OnGoroutine has not been called, the first such call writes one line to stderr.
func OnGoroutine(f func(call string)) {
	onGoroutine.Store(&f)
}

// reportGoroutine reports that a goroutine takes the place of a task.
func reportGoroutine() {
	if f := onGoroutine.Load(); f != nil {
		if *f != nil {
			(*f)(callSite())
		}
	} else if !warned.Load() && !warned.Swap(true) {
		fmt.Fprintf(os.Stderr, "fiberlab: %s: no scheduler takes tasks of the caller, so goroutines run what it "+
			"starts: "+
			"call it in sched.Run or in a task, or call fibersync.OnGoroutine(nil) if goroutines are meant\n", callSite())
	}
}

// callSite names the function of this package that was called from outside, and the place of
// the call.
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
