package uring_test

import (
	"fmt"

	"fiberlab/sched"
	"fiberlab/sched/uring"
)

// A task hands a request to the engine of its worker and waits: the worker goes on with other tasks.
func ExampleEngines() {
	engines := uring.New(uring.Options{})
	cfg := sched.Config{Workers: 1}
	engines.Attach(&cfg)
	err := sched.Run(cfg, func() {
		e, err := engines.Here()
		if err != nil {
			fmt.Println(err)
			return
		}
		done, err := e.Do(uring.Entry{Op: uring.OpNop}, nil)
		fmt.Println("a request that does nothing:", done.Result, err)
	})
	fmt.Println(err, engines.Close())
	// Output:
	// a request that does nothing: 0 <nil>
	// <nil> <nil>
}
