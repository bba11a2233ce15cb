package forkjoin

import "context"

// Reduce calls part for parts of r, as [For] does, and combines the results, in the order of the parts, to one. Combine
// must be associative: combine(a, combine(b, c)) is combine(combine(a, b), c). It need not be commutative: what comes
// from lower integers is always on the left. Both may change and return what they get. Calls of combine are concurrent
// too. If r is empty, Reduce calls nothing and returns the zero value.
//
// Reduce panics as For does.
func Reduce[T any](p *Pool, r Range, part func(p *Pool, begin, end int) T, combine func(left, right T) T) T {
	mustBeFunc("Reduce", part == nil || combine == nil)
	r.check("Reduce")
	f := fold[T]{outcome: new(outcome), part: part, combine: combine}
	return f.over(p, r)
}

// ReduceContext is Reduce for functions that may fail, with the context and the rule of the first error of
// [ForContext]. If it returns an error, the other result is the zero value.
func ReduceContext[T any](ctx context.Context, p *Pool, r Range,
	part func(ctx context.Context, p *Pool, begin, end int) (T, error),
	combine func(ctx context.Context, left, right T) (T, error)) (T, error) {
	mustBeFunc("ReduceContext", part == nil || combine == nil)
	r.check("ReduceContext")
	o := within(ctx, "ReduceContext")
	defer o.end()
	result := func(v T, err error) T {
		if err != nil {
			o.fail(err)
		}
		return v
	}
	f := fold[T]{
		outcome: o,
		part:    func(p *Pool, begin, end int) T { return result(part(o.ctx, p, begin, end)) },
		combine: func(left, right T) T { return result(combine(o.ctx, left, right)) },
	}
	v := f.over(p, r)
	if o.first != nil {
		var none T
		return none, o.first
	}
	return v, nil
}

// fold is one walk over a range, in parts that have results.
type fold[T any] struct {
	*outcome
	grain   grain
	part    func(p *Pool, begin, end int) T
	combine func(left, right T) T
}

// folded is what a walk over some of the range has come to.
type folded[T any] struct {
	value T
	some  bool // value is the result of a part, or of several
}

// over walks over r. What it returns means nothing if the call was halted.
func (f *fold[T]) over(p *Pool, r Range) T {
	p.mustBeMade()
	f.grain.begin(p, length(r.Begin, max(r.Begin, r.End)), uint(r.Grain))
	return onStrand(f.outcome, p, func(p *Pool) (result folded[T]) {
		if r.Begin < r.End {
			result = f.walk(p, r.Begin, r.End)
		}
		return result
	}).value
}

// walk walks from begin to end.
func (f *fold[T]) walk(p *Pool, begin, end int) folded[T] {
	n := length(begin, end)
	if !f.grain.halves(n) {
		return f.do(p, begin, end)
	}
	mid := middle(begin, end)
	lower, upper := Join(p,
		func(p *Pool) folded[T] { return f.walk(p, begin, mid) },
		func(p *Pool) folded[T] { return f.walk(p, mid, end) })
	return f.join(lower, upper)
}

// do does one part.
func (f *fold[T]) do(p *Pool, begin, end int) (result folded[T]) {
	if !f.goesOn() {
		return result
	}
	returned := false
	defer f.unless(&returned)
	start := f.grain.start()
	result.value, result.some = f.part(p, begin, end), true
	f.grain.learn(length(begin, end), start)
	returned = true
	return result
}

// join combines two results. It does not if the call was halted, since one result may come from a part that has failed.
func (f *fold[T]) join(lower, upper folded[T]) (result folded[T]) {
	if !lower.some || !upper.some || !f.goesOn() {
		return result
	}
	returned := false
	defer f.unless(&returned)
	result.value, result.some = f.combine(lower.value, upper.value), true
	returned = true
	return result
}
