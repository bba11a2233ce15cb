// Package threadtest is for tests: it has goroutines change threads.
package threadtest

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	_ "fiberlab/internal/platform"
)

// attempts bounds how often Move tries.
const attempts = 10000

// Move has the caller, which is locked to its thread, go to another one. untie must unlock the caller, and tie lock it to the thread that
// it is on then; they are called until that is another one. As a rule a goroutine that Move starts is locked to the
// first thread then, until release is called.
func Move(untie, tie func() error) (release func(), err error) {
	first := unix.Gettid()
	for range attempts {
		if err := untie(); err != nil {
			return nil, err
		}
		there, open, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
		go func() {
			defer close(over)
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			here := unix.Gettid() == first
			close(there)
			if here {
				<-open
			}
		}()
		<-there
		err := tie()
		release := func() { close(open); <-over }
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
