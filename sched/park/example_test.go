package park_test

import (
	"fmt"
	"sync/atomic"
	"time"

	"fiberlab/sched"
	"fiberlab/sched/park"
)

// gate is a primitive in a few lines: one caller waits until it is opened.
type gate struct {
	open   atomic.Bool
	parker park.Parker
}

// newGate makes a gate for the caller to wait at.
func newGate() *gate {
	if p := park.Current(); p != nil {
		return &gate{parker: p}
	}
	return &gate{parker: park.NewGoroutine()}
}

func (g *gate) Wait() {
	for !g.open.Load() { // Park may return for no reason
		g.parker.Park(time.Time{})
	}
}

func (g *gate) Open() {
	g.open.Store(true)
	g.parker.Unpark() // if Wait has not parked yet, its Park returns at once
}

// The gate serves fibers and goroutines alike.
func Example() {
	g := newGate()
	go g.Open()
	g.Wait()
	fmt.Println("a goroutine has passed")
	err := sched.Run(sched.Config{Workers: 1}, func() {
		g := newGate()
		sched.Get().Go(g.Open)
		g.Wait()
		fmt.Println("a fiber has passed")
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// a goroutine has passed
	// a fiber has passed
}
