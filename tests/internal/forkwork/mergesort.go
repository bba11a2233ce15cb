package forkwork

import (
	"fmt"
	"sort"

	"fiberlab/sched/forkjoin"
)

const (
	// shortRun is the number of elements that insertion sorts.
	shortRun = 24
	// shortMerge is the number of elements that are merged without a fork.
	shortMerge = 4096
)

// sorting is what a run sorts: a copy of the same numbers each time, with room for as many.
type sorting struct{ input, data, room []int }

func newSorting(n int) *sorting {
	s := &sorting{input: make([]int, n), data: make([]int, n), room: make([]int, n)}
	for i := range s.input {
		s.input[i] = int(mix(uint64(i)) >> 1)
	}
	return s
}

// sampled is how far apart the elements are that go into the result of a run. To look at all would take time that no
// fork can make shorter.
const sampled = 13

// run calls sort with the input, and returns a number that depends on the order of the result.
func (s *sorting) run(sort func(u unsorted)) int {
	copy(s.data, s.input)
	sort(unsorted{s.data, s.room, false})
	check := uint64(0)
	for i := 0; i < len(s.data); i += sampled {
		check = check*31 + uint64(s.data[i])
	}
	return int(check)
}

// Mergesort sorts n numbers by halves, which it merges. It forks for more than cut of them, to sort and to merge: a
// merge is cut in two where the middle of its larger half belongs.
func Mergesort(n, cut int) Work {
	s := newSorting(n)
	w := Work{
		Name:   fmt.Sprintf("work=mergesort/n=%d/cut=%d", n, cut),
		Serial: func() int { return s.run(unsorted.sort) },
		Forked: func(r Rival) int { return s.run(func(u unsorted) { u.sortForked(r, cut) }) },
		Join:   func(p *forkjoin.Pool) int { return s.run(func(u unsorted) { u.sortJoin(p, cut) }) },
	}
	if cut == 0 {
		w.Name = fmt.Sprintf("work=mergesort/n=%d/cut=none", n)
		f := forkjoin.NewFunc(sortTyped)
		w.Typed = func(p *forkjoin.Pool) int {
			return s.run(func(u unsorted) { f.Call(p, sortOrMerge{sort: u}) })
		}
	}
	return w
}

// unsorted is data to be sorted, and as much room. The result goes into room if inRoom, and into data otherwise.
type unsorted struct {
	data, room []int
	inRoom     bool
}

// halves returns what has to be sorted before merge makes of it what u asks for.
func (u unsorted) halves() (first, second unsorted, merge merging) {
	half := len(u.data) / 2
	first = unsorted{u.data[:half], u.room[:half], !u.inRoom}
	second = unsorted{u.data[half:], u.room[half:], !u.inRoom}
	if u.inRoom {
		return first, second, merging{u.room, u.data[:half], u.data[half:]}
	}
	return first, second, merging{u.data, u.room[:half], u.room[half:]}
}

// sortShort sorts by insertion.
func (u unsorted) sortShort() {
	data := u.data
	if u.inRoom {
		data = u.room[:copy(u.room, u.data)]
	}
	for i := 1; i < len(data); i++ {
		v, j := data[i], i
		for ; j > 0 && data[j-1] > v; j-- {
			data[j] = data[j-1]
		}
		data[j] = v
	}
}

func (u unsorted) sort() {
	if len(u.data) <= shortRun {
		u.sortShort()
		return
	}
	first, second, merge := u.halves()
	first.sort()
	second.sort()
	merge.merge()
}

// merging is two sorted sequences, which are merged into into.
type merging struct{ into, left, right []int }

func (m merging) merge() {
	into, left, right := m.into, m.left, m.right
	for len(left) > 0 && len(right) > 0 {
		if right[0] < left[0] {
			into[0], right = right[0], right[1:]
		} else {
			into[0], left = left[0], left[1:]
		}
		into = into[1:]
	}
	copy(into, left)
	copy(into, right)
}

// halves cuts m in two. All elements of the first half come before all elements of the second.
func (m merging) halves() (first, second merging) {
	l, r := len(m.left)/2, len(m.right)/2
	if len(m.left) >= len(m.right) {
		r = sort.SearchInts(m.right, m.left[l])
	} else {
		l = sort.Search(len(m.left), func(i int) bool { return m.left[i] > m.right[r] })
	}
	return merging{m.into[:l+r], m.left[:l], m.right[:r]}, merging{m.into[l+r:], m.left[l:], m.right[r:]}
}

func (u unsorted) sortForked(r Rival, cut int) {
	if len(u.data) <= shortRun || len(u.data) <= cut {
		u.sort()
		return
	}
	first, second, merge := u.halves()
	r.fork(
		func() int { first.sortForked(r, cut); return 0 },
		func() int { second.sortForked(r, cut); return 0 })
	merge.mergeForked(r, cut)
}

func (m merging) mergeForked(r Rival, cut int) {
	if len(m.into) <= max(shortMerge, cut) {
		m.merge()
		return
	}
	first, second := m.halves()
	r.fork(
		func() int { first.mergeForked(r, cut); return 0 },
		func() int { second.mergeForked(r, cut); return 0 })
}

func (u unsorted) sortJoin(p *forkjoin.Pool, cut int) {
	if len(u.data) <= shortRun || len(u.data) <= cut {
		u.sort()
		return
	}
	first, second, merge := u.halves()
	forkjoin.Join(p,
		func(p *forkjoin.Pool) struct{} { first.sortJoin(p, cut); return struct{}{} },
		func(p *forkjoin.Pool) struct{} { second.sortJoin(p, cut); return struct{}{} })
	merge.mergeJoin(p, cut)
}

func (m merging) mergeJoin(p *forkjoin.Pool, cut int) {
	if len(m.into) <= max(shortMerge, cut) {
		m.merge()
		return
	}
	first, second := m.halves()
	forkjoin.Join(p,
		func(p *forkjoin.Pool) struct{} { first.mergeJoin(p, cut); return struct{}{} },
		func(p *forkjoin.Pool) struct{} { second.mergeJoin(p, cut); return struct{}{} })
}

// sortOrMerge is the argument of sortTyped, which does both, since a Func forks calls of itself:
// it merges if sort is empty.
type sortOrMerge struct {
	sort  unsorted
	merge merging
}

func sortTyped(s *forkjoin.Strand[sortOrMerge, struct{}], a sortOrMerge) struct{} {
	if u := a.sort; len(u.data) > 0 {
		if len(u.data) <= shortRun {
			u.sortShort()
			return struct{}{}
		}
		first, second, merge := u.halves()
		t := s.Fork(sortOrMerge{sort: second})
		sortTyped(s, sortOrMerge{sort: first})
		s.Join(t)
		a.merge = merge
	}
	if len(a.merge.into) <= shortMerge {
		a.merge.merge()
		return struct{}{}
	}
	first, second := a.merge.halves()
	t := s.Fork(sortOrMerge{merge: second})
	sortTyped(s, sortOrMerge{merge: first})
	return s.Join(t)
}
