package forkjoin

import "context"

// JoinContext is [Join] for functions that may fail. Each gets a context that is done when ctx is, or when the other
// has failed, panicked or called Goexit; its cause is that error. A function that has not begun by then is not called.
// JoinContext returns when the functions that were called have returned. It returns the error of the function that
// failed first, or context.Cause(ctx) if ctx was done before that and one was not called. If the pool is closed, the
// error wraps ErrClosed. A goroutine that calls it runs neither: both are tasks. Each of the other two results is what
// its function has returned, the zero value if that was not called. A panic goes before an error. JoinContext panics
// with an error that wraps fibersync.ErrNilFunc or fibersync.ErrNilContext if an argument is nil.
func JoinContext[A, B any](ctx context.Context, p *Pool,
	a func(ctx context.Context, p *Pool) (A, error), b func(ctx context.Context, p *Pool) (B, error)) (A, B, error) {
	mustBeFunc("JoinContext", a == nil || b == nil)
	o := within(ctx, "JoinContext")
	defer o.end()
	var first A
	var second B
	onStrand(o, p, func(p *Pool) struct{} {
		first, second = Join(p,
			func(p *Pool) A { return guarded(o, p, a) },
			func(p *Pool) B { return guarded(o, p, b) })
		return struct{}{}
	})
	return first, second, o.first
}

// guarded calls f unless the call that it is part of is halted, and halts that if f does not return or fails.
func guarded[T any](o *outcome, p *Pool, f func(ctx context.Context, p *Pool) (T, error)) (v T) {
	if !o.goesOn() {
		return v
	}
	returned := false
	defer o.unless(&returned)
	v, err := f(o.ctx, p)
	returned = true
	if err != nil {
		o.fail(err)
	}
	return v
}
