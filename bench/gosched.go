package bench

import (
	"runtime"
	"time"
)

// gosched switches between two goroutines that yield to each other, since no other processor may run Go code.
type gosched struct{}

func openGosched() (Session, error) { return gosched{}, nil }

func (gosched) Run(n int) (Sample, error) {
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
	return Sample{2 * trips(n), elapsed}, nil
}

func (gosched) Close() error { return nil }
