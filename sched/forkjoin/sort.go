package forkjoin

import (
	"context"
	"slices"
	"sort"
)

// SortFunc sorts s by cmp, as slices.SortFunc does. It is a merge sort of parts that are sorted by that, and allocates
// one list as long as s. Both halves of a list are sorted concurrently as far as there are workers, and so are the
// parts of a merge. Calls of cmp are concurrent. Cmp must be a strict weak ordering, as for slices.SortFunc, or the
// order is unspecified.
//
// If a call of cmp panics, SortFunc panics as [Join] does. Whatever cmp does, s has the same elements as before, in
// some order. SortFunc panics with an error that wraps fibersync.ErrNilFunc if cmp is nil.
func SortFunc[S ~[]E, E any](p *Pool, s S, cmp func(a, b E) int) {
	mustBeFunc("SortFunc", cmp == nil)
	sortList(new(outcome), p, s, cmp, false)
}

// SortFuncContext is SortFunc that gives up when ctx is done, and returns context.Cause(ctx) then. In that case s has
// the same elements as before, in some order. It returns an error that wraps ErrClosed if the pool is closed. It panics
// with an error that wraps fibersync.ErrNilContext if ctx is nil, and like SortFunc.
func SortFuncContext[S ~[]E, E any](ctx context.Context, p *Pool, s S, cmp func(a, b E) int) error {
	mustBeFunc("SortFuncContext", cmp == nil)
	o := within(ctx, "SortFuncContext")
	defer o.end()
	sortList(o, p, s, cmp, false)
	return o.first
}

// SortStableFunc is SortFunc that keeps the order of equal elements, as slices.SortStableFunc does.
// It is nearly as quick.
func SortStableFunc[S ~[]E, E any](p *Pool, s S, cmp func(a, b E) int) {
	mustBeFunc("SortStableFunc", cmp == nil)
	sortList(new(outcome), p, s, cmp, true)
}

// SortStableFuncContext is SortStableFunc that gives up as SortFuncContext does.
func SortStableFuncContext[S ~[]E, E any](ctx context.Context, p *Pool, s S, cmp func(a, b E) int) error {
	mustBeFunc("SortStableFuncContext", cmp == nil)
	o := within(ctx, "SortStableFuncContext")
	defer o.end()
	sortList(o, p, s, cmp, true)
	return o.first
}

const (
	sortLeast  = 4096 // fewer elements are not divided
	sortParts  = 64   // SortFunc has so many parts at most: slices.SortFunc is a little quicker than merges are
	mergeLeast = 8192 // a merge of so many elements, or less, is done by one strand
)

// sorter is one call of a sort. Its elements go from list to buffer and back, once for each merge.
//
// A merge reads one of the two and writes the other. What it has read stays whole until it is over. So, if a call
// of cmp panics, all elements are still in one place, and are brought back to list before the call ends.
type sorter[E any] struct {
	*outcome
	list, buffer []E
	cmp          func(a, b E) int
	least        int // a part of so many elements, or less, is sorted by one strand
	stable       bool
}

func sortList[E any](o *outcome, p *Pool, s []E, cmp func(a, b E) int, stable bool) {
	sorter := sorter[E]{outcome: o, list: s, cmp: cmp, least: sortLeast, stable: stable}
	if !stable {
		sorter.least = max(sortLeast, (len(s)+sortParts-1)/sortParts)
	}
	onStrand(o, p, func(p *Pool) bool {
		if len(s) > sorter.least || stable && len(s) > sortedRuns {
			sorter.buffer = make([]E, len(s))
		}
		return sorter.sort(p, 0, len(s), false)
	})
}

// sort sorts the elements from begin to end, which are in list, into buffer or into list. If it does not return true
// they are in list.
func (s *sorter[E]) sort(p *Pool, begin, end int, toBuffer bool) (done bool) {
	if end-begin <= s.least {
		return s.sortPart(begin, end, toBuffer)
	}
	mid := middle(begin, end)
	var lower, upper bool // have been sorted
	defer func() {
		if !done && !toBuffer {
			s.bringBack(lower, begin, mid)
			s.bringBack(upper, mid, end)
		}
	}()
	Join(p,
		func(p *Pool) struct{} {
			lower = s.sort(p, begin, mid, !toBuffer)
			return struct{}{}
		},
		func(p *Pool) struct{} {
			upper = s.sort(p, mid, end, !toBuffer)
			return struct{}{}
		})
	if !lower || !upper {
		return false
	}
	from, to := s.buffer, s.list
	if toBuffer {
		from, to = to, from
	}
	return s.merge(p, from[begin:mid], from[mid:end], to[begin:end])
}

// sortPart is sort by one strand.
func (s *sorter[E]) sortPart(begin, end int, toBuffer bool) (done bool) {
	if !s.goesOn() {
		return false
	}
	defer s.unless(&done)
	part, buffer := s.list[begin:end], s.buffer
	if buffer != nil {
		buffer = buffer[begin:end]
	}
	if s.stable {
		sortRuns(part, buffer, toBuffer, s.cmp)
		return true
	}
	slices.SortFunc(part, s.cmp) // swaps elements, so that all are there if cmp panics
	if toBuffer {
		copy(buffer, part)
	}
	return true
}

// bringBack copies the elements from begin to end from buffer to list, if they are there.
func (s *sorter[E]) bringBack(there bool, begin, end int) {
	if there {
		copy(s.list[begin:end], s.buffer[begin:end])
	}
}

// merge merges a and b, which are sorted, into to. Among equal elements, elements of a come first. It returns false
// if the call was halted.
func (s *sorter[E]) merge(p *Pool, a, b, to []E) bool {
	if len(to) <= mergeLeast {
		if !s.goesOn() {
			return false
		}
		returned := false
		defer s.unless(&returned)
		merge(a, b, to, s.cmp)
		returned = true
		return true
	}
	i, j := s.cutBoth(a, b)
	lower, upper := Join(p,
		func(p *Pool) bool { return s.merge(p, a[:i], b[:j], to[:i+j]) },
		func(p *Pool) bool { return s.merge(p, a[i:], b[j:], to[i+j:]) })
	return lower && upper
}

// cutBoth cuts the longer one of a and b in halves, and returns where to cut each, so that a[:i] and b[:j] come before
// a[i:] and b[j:].
func (s *sorter[E]) cutBoth(a, b []E) (i, j int) {
	returned := false
	defer s.unless(&returned)
	if len(a) >= len(b) {
		i = len(a) / 2
		j = sort.Search(len(b), func(k int) bool { return s.cmp(b[k], a[i]) >= 0 })
	} else {
		j = len(b) / 2
		i = sort.Search(len(a), func(k int) bool { return s.cmp(a[k], b[j]) > 0 })
	}
	returned = true
	return i, j
}
