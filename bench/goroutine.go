package bench

import (
	"iter"
	"time"
)

// goroutine switches between a goroutine and a coroutine of iter.Pull: the runtime's own direct switch.
type goroutine struct {
	resume func() (struct{}, bool)
	stop   func()
}

func openGoroutine() (Session, error) {
	resume, stop := iter.Pull(func(yield func(struct{}) bool) {
		for yield(struct{}{}) {
		}
	})
	return &goroutine{resume, stop}, nil
}

func (g *goroutine) Run(n int) (Sample, error) {
	start := time.Now()
	for range trips(n) {
		g.resume()
	}
	return Sample{2 * trips(n), time.Since(start)}, nil
}

func (g *goroutine) Close() error {
	g.stop()
	return nil
}
