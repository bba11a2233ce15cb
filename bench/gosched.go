package bench

import (
	"runtime"
	"time"
)

// yields switches between two goroutines that yield to each other, since no other processor may run Go code.
func yields(n int) (time.Duration, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range trips(n) {
			runtime.Gosched()
		}
	}()
	start := time.Now()
	for range trips(n) {
		runtime.Gosched()
	}
	elapsed := time.Since(start)
	<-done
	return elapsed, nil
}
