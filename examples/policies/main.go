// Policies runs the same program under each scheduling policy: a hundred tasks on two workers, each of which
// computes and yields in turn. A policy decides where a task waits until it begins, and which worker goes on with
// its fiber after a yield.
//
// It prints:
//
//	stealing:   about 54 and about 46 tasks begun by each worker, about 0 fibers continued on the other one
//	roundrobin: about 50 and about 50 tasks begun by each worker, about 100 fibers continued on the other one
//	group:      about 52 and about 48 tasks begun by each worker, about 100 fibers continued on the other one
//
// Under stealing the last number is 0: an idle worker steals tasks that have not begun, and fibers stay with their
// worker. Under the other policies both workers share a queue, of tasks and of fibers.
package main

import (
	"fmt"
	"log"
	"math/rand/v2"
	"sync/atomic"

	"fiberlab/sched"
)

// counts is what happened under a policy.
type counts struct {
	begun [2]atomic.Int64 // tasks, by each worker
	moved atomic.Int64    // fibers that continued on another worker
}

func run(policy sched.Policy) *counts {
	c := &counts{}
	s, err := sched.New(sched.Config{Workers: len(c.begun), Policy: policy})
	check(err)
	for range 100 {
		check(s.Go(func() {
			first := sched.Current().Worker()
			c.begun[first.ID()].Add(1)
			moved := false
			for range 20 {
				rand.Perm(200) // computes for some microseconds
				sched.Yield()  // others run first
				moved = moved || sched.Current().Worker() != first
			}
			if moved {
				c.moved.Add(1)
			}
		}))
	}
	check(s.Close()) // waits for all tasks
	return c
}

func main() {
	for _, policy := range sched.Policies() {
		c := run(policy)
		fmt.Printf("%-11s about %d and about %d tasks begun by each worker, about %d fibers continued on the other one\n",
			policy.String()+":", c.begun[0].Load(), c.begun[1].Load(), c.moved.Load())
	}
}

// check ends the program if err is an error.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
