package forkjoin_test

import (
	"context"
	"errors"
	"fmt"

	"fiberlab/sched"
	"fiberlab/sched/forkjoin"
)

// A task submits a child and gets its result. Get runs the child, unless another worker has begun it: so one worker is
// enough, however deep the tasks are nested.
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

// A pool stands on a scheduler. It is closed first, and then has no future that was forgotten.
func ExamplePool() {
	s, err := sched.New(sched.Config{Workers: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	pool, err := forkjoin.New(s, forkjoin.Config{Form: forkjoin.Deque})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer := forkjoin.Submit(pool, func(*forkjoin.Pool) (int, error) { return 6 * 7, nil })
	fmt.Println(answer.Get())
	fmt.Println("live futures:", pool.Stats().Live)
	fmt.Println(pool.Close(), s.Close())
	// Output:
	// 42 <nil>
	// live futures: 0
	// <nil> <nil>
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

// A scope joins any number of forks.
func ExampleInScope() {
	withPool(func(pool *forkjoin.Pool) {
		lengths := make([]int, 3)
		forkjoin.InScope(pool, func(_ *forkjoin.Pool, s *forkjoin.Scope) {
			for i, word := range []string{"one", "two", "three"} {
				s.Fork(func(*forkjoin.Pool) { lengths[i] = len(word) })
			}
		})
		fmt.Println(lengths)
	})
	// Output: [3 3 5]
}

// The first error ends the scope: the context of the other tasks is done, and no task begins after that.
func ExampleInScopeContext() {
	withPool(func(pool *forkjoin.Pool) {
		err := forkjoin.InScopeContext(context.Background(), pool,
			func(_ context.Context, _ *forkjoin.Pool, s *forkjoin.ScopeContext) error {
				for _, name := range []string{"a", "", "c"} {
					s.Fork(func(context.Context, *forkjoin.Pool) error {
						if name == "" {
							return errors.New("no name")
						}
						return nil
					})
				}
				return nil
			})
		fmt.Println(err)
	})
	// Output: no name
}

// total is sum for values that may be wrong.
func total(ctx context.Context, s forkjoin.StrandContext[*tree, int], t *tree) (int, error) {
	if t == nil {
		return 0, nil
	}
	if t.value < 0 {
		return 0, fmt.Errorf("a value is %d", t.value)
	}
	right := s.Fork(t.right)
	left, err := total(ctx, s, t.left)
	if err != nil {
		return 0, err
	}
	more, err := s.Join(right)
	return t.value + left + more, err
}

func ExampleNewFuncContext() {
	good := &tree{value: 1, left: &tree{value: 2}}
	bad := &tree{value: 1, left: &tree{value: 2}, right: &tree{value: 3, left: &tree{value: -4}}}
	withPool(func(pool *forkjoin.Pool) {
		f := forkjoin.NewFuncContext(total)
		fmt.Println(f.Call(context.Background(), pool, good))
		fmt.Println(f.Call(context.Background(), pool, bad))
	})
	// Output:
	// 3 <nil>
	// 0 a value is -4
}
