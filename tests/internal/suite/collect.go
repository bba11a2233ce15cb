package suite

import (
	"runtime"
	"testing"
	"time"
)

// KeepCollecting keeps the garbage collector running until the test ends, for half of
// the time, since it needs the processors for itself in parts of each cycle.
func KeepCollecting(t *testing.T) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				start := time.Now()
				runtime.GC()
				time.Sleep(time.Since(start))
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-stopped })
}
