package bench

import (
	"iter"
	"runtime"
	"time"
)

// pulls switches between a goroutine and a coroutine of iter.Pull: the runtime's own direct switch.
func pulls(n int) (time.Duration, error) {
	resume, stop := iter.Pull(func(yield func(struct{}) bool) {
		for yield(struct{}{}) {
		}
	})
	defer stop()
	resume()
	start := time.Now()
	for range trips(n) {
		resume()
	}
	return time.Since(start), nil
}

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

// goChannels switches between two goroutines by unbuffered channels, through Go's scheduler. Each send is a switch.
func goChannels(n int) (time.Duration, error) {
	there, back := make(chan int), make(chan int)
	go func() {
		for range trips(n) {
			<-there
			back <- 0
		}
	}()
	start := time.Now()
	for range trips(n) {
		there <- 0
		<-back
	}
	return time.Since(start), nil
}
