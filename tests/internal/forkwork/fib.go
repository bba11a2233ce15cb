package forkwork

import (
	"fmt"

	"fiberlab/sched/forkjoin"
)

// Fib computes the n-th number of Fibonacci by recursion in two, and forks for numbers above cut. A call does next to
// nothing else, so a fork is all that it costs.
func Fib(n, cut int) Work {
	w := Work{
		Name:   fmt.Sprintf("work=fib/n=%d/cut=%d", n, cut),
		Serial: func() int { return fib(n) },
		Forked: func(r Rival) int { return fibForked(r, n, cut) },
		Join:   func(p *forkjoin.Pool) int { return fibJoin(p, n, cut) },
	}
	if cut == 0 {
		w.Name = fmt.Sprintf("work=fib/n=%d/cut=none", n)
		f := forkjoin.NewFunc(fibTyped)
		w.Typed = func(p *forkjoin.Pool) int { return f.Call(p, n) }
	}
	return w
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func fibForked(r Rival, n, cut int) int {
	if n < 2 || n <= cut {
		return fib(n)
	}
	x, y := r.fork(
		func() int { return fibForked(r, n-1, cut) },
		func() int { return fibForked(r, n-2, cut) })
	return x + y
}

func fibJoin(p *forkjoin.Pool, n, cut int) int {
	if n < 2 || n <= cut {
		return fib(n)
	}
	x, y := forkjoin.Join(p,
		func(p *forkjoin.Pool) int { return fibJoin(p, n-1, cut) },
		func(p *forkjoin.Pool) int { return fibJoin(p, n-2, cut) })
	return x + y
}

func fibTyped(s *forkjoin.Strand[int, int], n int) int {
	if n < 2 {
		return n
	}
	t := s.Fork(n - 2)
	x := fibTyped(s, n-1)
	return x + s.Join(t)
}
