package bench

import (
	"iter"
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
