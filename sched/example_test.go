package sched_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"fiberlab/sched"
)

func report(err error) {
	if err != nil {
		fmt.Println(err)
	}
}

// New makes the workers, Enqueue queues a task, and Close waits until all tasks have returned.
func Example() {
	s, err := sched.New(sched.Config{Workers: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	report(s.Enqueue(sched.Task{Func: func() { fmt.Println("a task runs") }}))
	report(s.Close())
	// Output: a task runs
}

// Run is the whole life of a scheduler.
func ExampleRun() {
	report(sched.Run(sched.Config{Workers: 1}, func() {
		report(sched.Schedule(func() { fmt.Println("a task runs") }))
	}))
	fmt.Println("all tasks have returned")
	// Output:
	// a task runs
	// all tasks have returned
}

// A goroutine that binds a scheduler runs tasks while it waits, and when it unbinds.
func ExampleScheduler_Bind() {
	s, err := sched.New(sched.Config{}) // no multi-threaded workers
	report(err)
	report(s.Bind())
	report(sched.Schedule(func() { fmt.Println("the goroutine runs the task") }))
	fmt.Println("nothing has run yet")
	report(sched.Unbind())
	report(s.Close())
	// Output:
	// nothing has run yet
	// the goroutine runs the task
}

// A task that waits gives its thread to others. The lock guards what it waits for.
func ExampleFiber_Wait() {
	report(sched.Run(sched.Config{Workers: 1}, func() {
		var mu sync.Mutex
		ready, me := false, sched.Current()
		report(sched.Schedule(func() {
			mu.Lock()
			defer mu.Unlock()
			ready = true
			me.Notify()
		}))
		mu.Lock()
		defer mu.Unlock()
		me.Wait(&mu, func() bool { return ready })
		fmt.Println("ready")
	}))
	// Output: ready
}

// The same program runs under each policy.
func ExamplePolicy() {
	for _, policy := range sched.Policies() {
		report(sched.Run(sched.Config{Workers: 2, Policy: policy}, func() {
			report(sched.Schedule(func() { fmt.Println("a task under", policy) }))
		}))
	}
	// Output:
	// a task under stealing
	// a task under roundrobin
	// a task under group
}

// CloseContext gives up when its context is done, and says what is left.
func ExampleScheduler_CloseContext() {
	s, err := sched.New(sched.Config{Workers: 1})
	report(err)
	begun, end := make(chan struct{}), make(chan struct{})
	report(s.Go(func() { close(begun); <-end }))
	<-begun
	report(s.Go(func() { fmt.Println("hello") }))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	fmt.Println(errors.Is(s.CloseContext(ctx), context.Canceled))
	close(end)
	report(s.Close())
	<-s.Done() // it is closed
	// Output:
	// true
	// hello
}

// With MaxQueued, TryEnqueue refuses a task for which there is no room. Enqueue waits for room.
func ExampleScheduler_TryEnqueue() {
	s, err := sched.New(sched.Config{Workers: 1, MaxQueued: 1})
	report(err)
	begun, end := make(chan struct{}), make(chan struct{})
	report(s.Go(func() { close(begun); <-end }))
	<-begun // now the only worker is busy
	fmt.Println(s.TryEnqueue(sched.Task{Func: func() {}}))
	fmt.Println(errors.Is(s.TryEnqueue(sched.Task{Func: func() {}}), sched.ErrFull))
	close(end)
	report(s.Close())
	// Output:
	// <nil>
	// true
}

// A task panics: Panicked gets the value, and the worker continues.
func ExampleConfig() {
	cfg := sched.Config{
		Name: "server", Workers: 1, MaxQueued: 100,
		Panicked: func(value any, _ []byte) { fmt.Println("a task has panicked:", value) },
	}
	report(sched.Run(cfg, func() {
		report(sched.Schedule(func() { panic("no input") }))
	}))
	fmt.Println("the program has not")
	// Output:
	// a task has panicked: no input
	// the program has not
}

// Four workers in groups of two: each group has a queue that its workers share.
func ExampleGroups() {
	s, err := sched.New(sched.Config{
		Workers: 4, Policy: sched.Group, Groups: sched.Groups{Size: 2, Mode: sched.AffinityMode},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, group := range s.Stats().Groups {
		fmt.Println("group", i, "has", group.Workers, "workers")
	}
	report(s.Close())
	// Output:
	// group 0 has 2 workers
	// group 1 has 2 workers
}

// Workers by turns on the first two CPUs.
func ExampleAffinity() {
	var cpus sched.Affinity = func(worker int) []int { return []int{worker % 2} }
	for worker := range 3 {
		fmt.Println("worker", worker, "may run on", cpus(worker))
	}
	// Output:
	// worker 0 may run on [0]
	// worker 1 may run on [1]
	// worker 2 may run on [0]
}
