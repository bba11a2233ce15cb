package forkjoin

import (
	"context"
	"fmt"

	"fiberlab/sched/fibersync"
)

// Range is the integers from Begin to End, without End. It is empty if End is not greater than Begin, as for the loop
//
//	for i := r.Begin; i < r.End; i++
type Range struct {
	Begin, End int

	// Grain is how many integers a body gets at a time at most. 0: as many as take some microseconds, found by trial,
	// so that there is nothing to tune.
	Grain int
}

// check panics if r is none.
func (r Range) check(call string) {
	if r.Grain < 0 {
		panic(fmt.Errorf("forkjoin: %s: Range.Grain is %d: %w", call, r.Grain, fibersync.ErrNegative))
	}
}

// For calls body for parts of r which together are r, concurrently as far as there are workers, and returns when all
// calls have returned. The loop over the integers of a part, from begin to end without end, is in body, so that it can
// be tight. No part is empty. Body gets the pool as its strand sees it, and may fork there, with another For too. While
// its fiber is parked, others go on with what has not begun. Integers must not wait for one another:
// they may be in one part.
//
// If a call panics, no other call begins, and For panics as [Join] does when the calls that have begun have returned.
// It also panics as Join does if the pool is closed. For panics with an error that wraps fibersync.ErrNilFunc if body
// is nil, or fibersync.ErrNegative if r.Grain is negative.
func For(p *Pool, r Range, body func(p *Pool, begin, end int)) {
	mustBeFunc("For", body == nil)
	r.check("For")
	new(outcome).each(p, r, body)
}

// ForContext is For for a body that may fail. Each call gets a context that is done when ctx is, or when a call has
// failed, panicked or called Goexit; its cause is that error. No call begins after that. ForContext returns when all
// that have begun have returned. It returns the error of the call that failed first, or context.Cause(ctx) if ctx was
// done before that and something was left to do. So it does for a goroutine if no worker was free until then. It
// returns an error that wraps ErrClosed if the pool is closed. A panic goes before an error. ForContext panics with an
// error that wraps fibersync.ErrNilContext if ctx is nil, and like For.
func ForContext(
	ctx context.Context, p *Pool, r Range, body func(ctx context.Context, p *Pool, begin, end int) error,
) error {
	mustBeFunc("ForContext", body == nil)
	r.check("ForContext")
	o := within(ctx, "ForContext")
	defer o.end()
	o.each(p, r, func(p *Pool, begin, end int) {
		if err := body(o.ctx, p, begin, end); err != nil {
			o.fail(err)
		}
	})
	return o.first
}

// each calls body for parts of r.
func (o *outcome) each(p *Pool, r Range, body func(p *Pool, begin, end int)) {
	f := fold[struct{}]{
		outcome: o,
		part: func(p *Pool, begin, end int) struct{} {
			body(p, begin, end)
			return struct{}{}
		},
		combine: func(none, _ struct{}) struct{} { return none },
	}
	f.over(p, r)
}
