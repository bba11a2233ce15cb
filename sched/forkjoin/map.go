package forkjoin

import "context"

// Map returns the results of f for each element of s, in the same order. Calls of f are concurrent as far as there are
// workers. F gets the pool as its strand sees it, and may fork there. The list of the results is allocated once, and is
// not nil.
//
// If a call panics, no other call begins, and Map panics as [Join] does when the calls that have begun have returned.
// Map panics with an error that wraps fibersync.ErrNilFunc if f is nil.
func Map[T, R any](p *Pool, s []T, f func(p *Pool, v T) R) []R {
	mustBeFunc("Map", f == nil)
	results := make([]R, len(s))
	o := new(outcome)
	o.each(p, Range{End: len(s)}, func(p *Pool, begin, end int) {
		from, to := s[begin:end], results[begin:end]
		for i := range to {
			if o.halted.Load() {
				return
			}
			to[i] = f(p, from[i])
		}
	})
	return results
}

// MapContext is Map for a function that may fail, with the context and the rule of the first error of [ForContext], for
// each call. If it returns an error, it returns no results.
func MapContext[T, R any](
	ctx context.Context, p *Pool, s []T, f func(ctx context.Context, p *Pool, v T) (R, error),
) ([]R, error) {
	mustBeFunc("MapContext", f == nil)
	o := within(ctx, "MapContext")
	defer o.end()
	results := make([]R, len(s))
	o.each(p, Range{End: len(s)}, func(p *Pool, begin, end int) {
		from, to := s[begin:end], results[begin:end]
		for i := range to {
			if !o.goesOn() {
				return
			}
			var err error
			if to[i], err = f(o.ctx, p, from[i]); err != nil {
				o.fail(err)
			}
		}
	})
	if o.first != nil {
		return nil, o.first
	}
	return results, nil
}
