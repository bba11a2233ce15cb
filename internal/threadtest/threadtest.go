// Package threadtest is for tests: it has goroutines change threads.
package threadtest

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	_ "fiberlab/internal/platform"
)

// Hold starts a goroutine that is locked to a thread until release is called, and reports whether that is the given
// one. Of several goroutines that hold a thread at the same time, each has another one.
func Hold(thread int) (release func(), held bool) {
	there, open, over := make(chan bool), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		there <- unix.Gettid() == thread
		<-open
	}()
	return func() { close(open); <-over }, <-there
}

// attempts bounds how often Move tries.
const attempts = 10000

// Move has the caller, which is locked to its thread, go to another one. untie must unlock the caller, and tie lock it
// to the thread that it is on then; they are called until that is another one. A goroutine that Move starts is then
// locked to a thread, usually to the first one, until release is called.
func Move(untie, tie func() error) (release func(), err error) {
	first := unix.Gettid()
	for range attempts {
		if err := untie(); err != nil {
			return nil, err
		}
		release, _ := Hold(first)
		err := tie()
		if err == nil && unix.Gettid() != first {
			return release, nil
		}
		release()
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the caller was still on thread %d when it had waited %d times", first, attempts)
}
