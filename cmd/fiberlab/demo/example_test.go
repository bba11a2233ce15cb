package demo_test

import (
	"context"
	"fmt"
	"strings"

	"fiberlab/cmd/fiberlab/demo"
	"fiberlab/sched"
)

// A thread that signals before the other one waits.
func Example() {
	program, err := demo.Parse(`
waiter:
  lock
  wait(done)
  unlock
signaller:
  signal(done)
`)
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := program.Explore(context.Background(), sched.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("schedules that go wrong:", found.Wrong, "of", found.Schedules)
	fmt.Println(found.Shortest.Schedule())
	fmt.Println(strings.ReplaceAll(found.Shortest.Fault.Text, ". ", ".\n"))
	// Output:
	// schedules that go wrong: 2 of 3
	// [signaller waiter waiter]
	// waiter sleeps in line 2 until there is a signal.
	// The signal of step 1 came while no thread slept.
	// A condition keeps nothing, so it was lost.
	// No thread is left that could wake it.
}

// Two threads share one pool, and both of their tasks wait for a child.
func ExampleCompareJoins() {
	joins, err := demo.CompareJoins(demo.JoinOptions{Scheduler: sched.Config{Workers: 2}, Parents: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("plain:  ", joins.Plain.Finished, len(joins.Plain.Stuck))
	fmt.Println("helping:", joins.Helping.Finished)
	fmt.Println("parking:", joins.Parking.Finished)
	// Output:
	// plain:   false 2
	// helping: true
	// parking: true
}
