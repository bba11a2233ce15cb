package forkjoin

import (
	"context"
	"sync"
)

// Func is a function that forks calls of itself. Since the pool knows the function, a fork keeps only the argument, by
// value, in a slot that was made beforehand: it allocates nothing.
type Func[A, R any] struct {
	call   func(*Strand[A, R], A) R
	unused sync.Pool // of *Strand[A, R]
}

// NewFunc returns f as a Func. f calls itself directly for the part that it goes on with, and forks the others:
//
//	func sum(s *forkjoin.Strand[*node, int], n *node) int {
//		if n == nil {
//			return 0
//		}
//		right := s.Fork(n.right)
//		left := sum(s, n.left)
//		return n.value + left + s.Join(right)
//	}
//
// It panics with an error that wraps fibersync.ErrNilFunc if f is nil.
func NewFunc[A, R any](f func(*Strand[A, R], A) R) *Func[A, R] {
	mustBeFunc("new function", f == nil)
	return &Func[A, R]{call: f}
}

// Call calls the function on p, and returns its result when all that it has forked has ended. Called by a goroutine
// that is no task, it blocks that, and the function runs as a task of the pool. It panics with an error that wraps
// ErrClosed if the pool is closed and the caller is none of its tasks. If the function panics, Call drops its forks
// that have not begun, waits for the others, and panics with an error that wraps a *fibersync.PanicError. Goexit ends
// the program, as in any task on a fiber. On a goroutine that runs tasks it ends that goroutine after the same steps.
func (f *Func[A, R]) Call(p *Pool, arg A) R {
	if f == nil || f.call == nil {
		panic(notMade("Func"))
	}
	if p.comesFromOutside() {
		r, err := asTask(context.Background(), p, func(p *Pool) R { return f.Call(p, arg) })
		if err != nil {
			panic(err)
		}
		return r
	}
	on, made := p.enter()
	if made {
		defer on.leave()
	}
	s := f.strand(on)
	returned := false
	defer func() {
		if returned {
			s.end()
		} else {
			s.unwind(recover())
		}
	}()
	r := f.call(s, arg)
	s.forget()
	returned = true
	return r
}
