package forkjoin

import (
	"context"
	"sync/atomic"
)

// Scan returns the inclusive scan of s: element i of the result combines the elements 0 to i of s, from left to right.
// Combine must be associative: combine(a, combine(b, c)) is combine(combine(a, b), c). It need not be commutative. It
// must not change what it gets. The list of the results is allocated once, and is not nil.
//
// What one strand does takes one pass: combine is called once for each element but the first. What another strand has
// taken it scans by itself, without knowing what precedes, and a second pass combines that with each of its results. So
// two workers take three quarters of the time of one: each scans a half, and both go over the upper half again.
//
// Scan panics as [Map] does.
func Scan[T any](p *Pool, s []T, combine func(left, right T) T) []T {
	mustBeFunc("Scan", combine == nil)
	results := make([]T, len(s))
	o := new(outcome)
	f := scan{
		outcome: o,
		part: func(begin, end int, continued bool) {
			if !continued {
				results[begin] = s[begin]
				begin++
			}
			for i := begin; i < end; i++ {
				results[i] = combine(results[i-1], s[i])
			}
		},
		precede: func(last, begin, end int) {
			before := results[last]
			for i := begin; i < end; i++ {
				results[i] = combine(before, results[i])
			}
		},
	}
	f.over(p, len(s))
	return results
}

// ScanContext is Scan for a function that may fail, with the context and the rule of the first error of [ForContext],
// for each call. If it returns an error, it returns no results.
func ScanContext[T any](ctx context.Context, p *Pool, s []T,
	combine func(ctx context.Context, left, right T) (T, error)) ([]T, error) {
	mustBeFunc("ScanContext", combine == nil)
	o := within(ctx, "ScanContext")
	defer o.end()
	results := make([]T, len(s))
	set := func(i int, left, right T) {
		var err error
		if results[i], err = combine(o.ctx, left, right); err != nil {
			o.fail(err)
		}
	}
	f := scan{
		outcome: o,
		part: func(begin, end int, continued bool) {
			if !continued {
				results[begin] = s[begin]
				begin++
			}
			for i := begin; i < end && o.goesOn(); i++ {
				set(i, results[i-1], s[i])
			}
		},
		precede: func(last, begin, end int) {
			before := results[last]
			for i := begin; i < end && o.goesOn(); i++ {
				set(i, before, results[i])
			}
		},
	}
	f.over(p, len(s))
	if o.first != nil {
		return nil, o.first
	}
	return results, nil
}

// scan is one walk over a list, in parts that continue one another.
type scan struct {
	*outcome
	grain   grain
	part    func(begin, end int, continued bool) // scans a part; continued: with the result before begin
	precede func(last, begin, end int)           // combines result last with each result from begin to end
}

func (s *scan) over(p *Pool, n int) {
	p.mustBeMade()
	s.grain.begin(p, uint(n), 0)
	onStrand(s.outcome, p, func(p *Pool) struct{} {
		if n > 0 {
			s.walk(p, 0, n, false)
		}
		return struct{}{}
	})
}

// walk scans from begin to end. If continued, the result before begin is there and is part of each. The upper half of a
// share continues the lower one if that is over when the upper one begins. Otherwise two strands have gone to work, and
// what precedes the upper half is made good in the end.
func (s *scan) walk(p *Pool, begin, end int, continued bool) {
	if !s.grain.halves(length(begin, end)) {
		s.do(begin, end, continued)
		return
	}
	mid := middle(begin, end)
	var over atomic.Bool // the lower half
	_, apart := Join(p,
		func(p *Pool) struct{} {
			s.walk(p, begin, mid, continued)
			over.Store(true)
			return struct{}{}
		},
		func(p *Pool) bool {
			continued := over.Load()
			s.walk(p, mid, end, continued)
			return !continued
		})
	if apart {
		s.each(p, Range{Begin: mid, End: end}, func(_ *Pool, begin, end int) { s.precede(mid-1, begin, end) })
	}
}

// do scans one part.
func (s *scan) do(begin, end int, continued bool) {
	if !s.goesOn() {
		return
	}
	returned := false
	defer s.unless(&returned)
	start := s.grain.start()
	s.part(begin, end, continued)
	s.grain.learn(length(begin, end), start)
	returned = true
}
