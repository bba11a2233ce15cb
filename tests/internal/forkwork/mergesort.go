package forkwork

import (
	"fmt"

	"fiberlab/sched/forkjoin"
)

// shortRun is the number of elements that insertion sorts.
const shortRun = 24

// sorting is what a run sorts: a copy of the same numbers each time, with room for as many.
type sorting struct{ input, data, room []int }

func newSorting(n int) *sorting {
	s := &sorting{input: make([]int, n), data: make([]int, n), room: make([]int, n)}
	for i := range s.input {
		s.input[i] = int(mix(uint64(i)) >> 1)
	}
	return s
}

// sampled is how far apart the elements are of which the result of a run tells: to look at all would take a part of the
// time that no fork can make shorter.
const sampled = 13

// run calls sort with what is to be sorted, and returns a number that depends on the order of the result.
func (s *sorting) run(sort func(data, room []int)) int {
	copy(s.data, s.input)
	sort(s.data, s.room)
	check := uint64(0)
	for i := 0; i < len(s.data); i += sampled {
		check = check*31 + uint64(s.data[i])
	}
	return int(check)
}

// Mergesort sorts n numbers by halves, which it merges, and forks for more than cut of them.
func Mergesort(n, cut int) Work {
	s := newSorting(n)
	w := Work{
		Name:   fmt.Sprintf("work=mergesort/n=%d/cut=%d", n, cut),
		Serial: func() int { return s.run(mergesort) },
		Forked: func(r Rival) int { return s.run(func(data, room []int) { mergesortForked(r, data, room, cut) }) },
		Join: func(p *forkjoin.Pool) int {
			return s.run(func(data, room []int) { mergesortJoin(p, data, room, cut) })
		},
	}
	if cut == 0 {
		w.Name = fmt.Sprintf("work=mergesort/n=%d/cut=none", n)
		f := forkjoin.NewFunc(mergesortTyped)
		w.Typed = func(p *forkjoin.Pool) int {
			return s.run(func(data, room []int) { f.Call(p, unsorted{data, room}) })
		}
	}
	return w
}

func mergesort(data, room []int) {
	if len(data) <= shortRun {
		insertionSort(data)
		return
	}
	half := len(data) / 2
	mergesort(data[:half], room[:half])
	mergesort(data[half:], room[half:])
	merge(data, room, half)
}

func mergesortForked(r Rival, data, room []int, cut int) {
	if len(data) <= shortRun || len(data) <= cut {
		mergesort(data, room)
		return
	}
	half := len(data) / 2
	r.fork(
		func() int { mergesortForked(r, data[:half], room[:half], cut); return 0 },
		func() int { mergesortForked(r, data[half:], room[half:], cut); return 0 })
	merge(data, room, half)
}

func insertionSort(data []int) {
	for i := 1; i < len(data); i++ {
		v, j := data[i], i
		for ; j > 0 && data[j-1] > v; j-- {
			data[j] = data[j-1]
		}
		data[j] = v
	}
}

// merge makes of the sorted data[:half] and data[half:] one sorted data. The first half is in room meanwhile.
func merge(data, room []int, half int) {
	left := room[:copy(room, data[:half])]
	right := data[half:]
	for to := 0; len(left) > 0; to++ {
		if len(right) == 0 {
			copy(data[to:], left)
			return
		}
		if right[0] < left[0] {
			data[to], right = right[0], right[1:]
		} else {
			data[to], left = left[0], left[1:]
		}
	}
}

func mergesortJoin(p *forkjoin.Pool, data, room []int, cut int) {
	if len(data) <= shortRun || len(data) <= cut {
		mergesort(data, room)
		return
	}
	half := len(data) / 2
	forkjoin.Join(p,
		func(p *forkjoin.Pool) struct{} {
			mergesortJoin(p, data[:half], room[:half], cut)
			return struct{}{}
		},
		func(p *forkjoin.Pool) struct{} {
			mergesortJoin(p, data[half:], room[half:], cut)
			return struct{}{}
		})
	merge(data, room, half)
}

// unsorted is what mergesortTyped sorts.
type unsorted struct{ data, room []int }

func mergesortTyped(s *forkjoin.Strand[unsorted, struct{}], u unsorted) struct{} {
	if len(u.data) <= shortRun {
		insertionSort(u.data)
		return struct{}{}
	}
	half := len(u.data) / 2
	t := s.Fork(unsorted{u.data[half:], u.room[half:]})
	mergesortTyped(s, unsorted{u.data[:half], u.room[:half]})
	s.Join(t)
	merge(u.data, u.room, half)
	return struct{}{}
}
