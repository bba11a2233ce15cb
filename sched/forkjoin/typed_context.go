package forkjoin

import "context"

// FuncContext is a Func for a function that may fail.
type FuncContext[A, R any] struct {
	of *Func[part[A], R]
}

// part is what a fork of a FuncContext keeps.
type part[A any] struct {
	call *outcome
	arg  A
}

// NewFuncContext returns f as a FuncContext. f calls itself directly for the part that it goes on with, and forks the
// others:
//
//	func size(ctx context.Context, s forkjoin.StrandContext[*node, int], n *node) (int, error) {
//		if n == nil {
//			return 0, nil
//		}
//		right := s.Fork(n.right)
//		left, err := size(ctx, s, n.left)
//		if err != nil {
//			return 0, err
//		}
//		more, err := s.Join(right)
//		return n.size + left + more, err
//	}
//
// It panics with an error that wraps fibersync.ErrNilFunc if f is nil.
func NewFuncContext[A, R any](f func(ctx context.Context, s StrandContext[A, R], arg A) (R, error)) *FuncContext[A, R] {
	mustBeFunc("new function with a context", f == nil)
	return &FuncContext[A, R]{NewFunc(func(s *Strand[part[A], R], p part[A]) (r R) {
		o := p.call
		if !o.goesOn() {
			return r
		}
		last, returned := Ticket(s.last.Load()), false
		defer o.unless(&returned)
		r, err := f(o.ctx, StrandContext[A, R]{s, o}, p.arg)
		if err != nil {
			o.fail(err)
			if err := s.abandon(last); err != nil {
				panic(err)
			}
		}
		returned = true
		return r
	})}
}

// Call calls the function on p, and returns its result when all that it has forked has ended. Each call of the function
// gets a context that is done when ctx is, or when another has failed, panicked or called Goexit; its cause is that
// error. No fork begins after that. Then Call returns the zero value and the first error: that error, or
// context.Cause(ctx) if ctx was done before and something was left to do. It returns an error that wraps ErrClosed if
// the pool is closed. A panic goes before an error. Call panics with an error that wraps fibersync.ErrNilContext if ctx
// is nil, and as [Func.Call] does.
func (f *FuncContext[A, R]) Call(ctx context.Context, p *Pool, arg A) (R, error) {
	if f == nil || f.of == nil {
		panic(notMade("FuncContext"))
	}
	o := within(ctx, "FuncContext.Call")
	defer o.end()
	r := onStrand(o, p, func(p *Pool) R { return f.of.Call(p, part[A]{o, arg}) })
	return resultOf(o, r)
}

// StrandContext is the [Strand] of a FuncContext. Only the function may use it, on the same stack, while the call
// lasts.
type StrandContext[A, R any] struct {
	of   *Strand[part[A], R]
	call *outcome
}

// Fork is [Strand.Fork]. A function that returns an error need not join its forks: those that have not begun are
// dropped.
func (s StrandContext[A, R]) Fork(arg A) Ticket { return s.made().Fork(part[A]{s.call, arg}) }

// Join is [Strand.Join]. If the call that the fork is a part of has failed, here or elsewhere, it returns the first
// error.
func (s StrandContext[A, R]) Join(t Ticket) (R, error) {
	r := s.made().Join(t)
	return resultOf(s.call, r)
}

// Pool returns the pool as a task on this strand sees it.
func (s StrandContext[A, R]) Pool() *Pool { return s.made().Pool() }

// resultOf returns r, or the error of the call if that has failed.
func resultOf[R any](o *outcome, r R) (R, error) {
	if o.halted.Load() {
		var none R
		return none, o.first
	}
	return r, nil
}

// made returns what s stands for, and panics if that is nothing.
func (s StrandContext[A, R]) made() *Strand[part[A], R] {
	if s.of == nil {
		panic(notMade("StrandContext"))
	}
	return s.of
}
