package forkjoin_test

import (
	"errors"
	"fmt"

	"fiberlab/sched"
	"fiberlab/sched/forkjoin"
)

// A task submits a child and gets its result. Get runs the child, unless another worker has begun it: so one worker is enough, however deep the
// tasks are nested.
func ExampleSubmit() {
	err := sched.Run(sched.Config{Workers: 1}, func() {
		pool, err := forkjoin.New(sched.Get(), forkjoin.Config{})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer pool.Close()

		parent := forkjoin.Submit(pool, func(pool *forkjoin.Pool) (string, error) {
			child := forkjoin.Submit(pool, func(*forkjoin.Pool) (string, error) {
				return "", errors.New("the child has nothing to say")
			})
			if _, err := child.Get(); err != nil {
				return "the parent goes on: " + err.Error(), nil
			}
			return "", nil
		})
		fmt.Println(parent.Get())
	})
	fmt.Println(err)
	// Output:
	// the parent goes on: the child has nothing to say <nil>
	// <nil>
}

// fib forks in each call.
func fib(pool *forkjoin.Pool, n int) int {
	if n < 2 {
		return n
	}
	a, b := forkjoin.Join(pool,
		func(pool *forkjoin.Pool) int { return fib(pool, n-1) },
		func(pool *forkjoin.Pool) int { return fib(pool, n-2) })
	return a + b
}

func ExampleJoin() {
	withPool(func(pool *forkjoin.Pool) { fmt.Println(fib(pool, 20)) })
	// Output: 6765
}

type tree struct {
	left, right *tree
	value       int
}

// sum is a function that the pool knows: a fork of it keeps only the subtree, and allocates nothing.
func sum(s *forkjoin.Strand[*tree, int], t *tree) int {
	if t == nil {
		return 0
	}
	right := s.Fork(t.right)
	left := sum(s, t.left)
	return t.value + left + s.Join(right)
}

func ExampleNewFunc() {
	t := &tree{value: 1, left: &tree{value: 2}, right: &tree{value: 3, left: &tree{value: 4}}}
	withPool(func(pool *forkjoin.Pool) { fmt.Println(forkjoin.NewFunc(sum).Call(pool, t)) })
	// Output: 10
}
