package forkwork

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fiberlab/sched/forkjoin"
)

// parts is into how many parts the rivals cut a loop.
const parts = 64

// forkedLoop calls body for parts of the integers from begin to end,
// and forks in two until they have no more than grain.
func forkedLoop(r Rival, begin, end, grain int, body func(begin, end int) int) int {
	if end-begin <= grain {
		return body(begin, end)
	}
	middle := begin + (end-begin)/2
	first, second := r.fork(
		func() int { return forkedLoop(r, begin, middle, grain, body) },
		func() int { return forkedLoop(r, middle, end, grain, body) })
	return first + second
}

// Roots takes the square roots of n numbers, by forkjoin.For.
func Roots(n int) Work {
	in, out := make([]float64, n), make([]float64, n)
	for i := range in {
		in[i] = float64(mix(uint64(i)) % 1000)
	}
	body := func(begin, end int) int {
		for i := begin; i < end; i++ {
			out[i] = math.Sqrt(in[i])
		}
		return 0
	}
	check := func() int { return int(math.Float64bits(out[n/3]) + 31*math.Float64bits(out[n-1])) }
	return Work{
		Name:   fmt.Sprintf("work=roots/n=%d/cut=%d", n, n/parts),
		Serial: func() int { body(0, n); return check() },
		Forked: func(r Rival) int { forkedLoop(r, 0, n, n/parts, body); return check() },
		Loop: func(p *forkjoin.Pool) int {
			forkjoin.For(p, forkjoin.Range{End: n}, func(_ *forkjoin.Pool, begin, end int) { body(begin, end) })
			return check()
		},
	}
}

// Total adds up hashes of n numbers, by forkjoin.Reduce.
func Total(n int) Work {
	body := func(begin, end int) int {
		sum := uint64(0)
		for i := begin; i < end; i++ {
			sum += mix(uint64(i))
		}
		return int(sum)
	}
	return Work{
		Name:   fmt.Sprintf("work=total/n=%d/cut=%d", n, n/parts),
		Serial: func() int { return body(0, n) },
		Forked: func(r Rival) int { return forkedLoop(r, 0, n, n/parts, body) },
		Loop: func(p *forkjoin.Pool) int {
			return forkjoin.Reduce(p, forkjoin.Range{End: n},
				func(_ *forkjoin.Pool, begin, end int) int { return body(begin, end) },
				func(left, right int) int { return left + right })
		},
	}
}

// Sort sorts n numbers as slices.SortFunc does, by forkjoin.SortFunc. The rivals sort parts so, and merge them.
func Sort(n int) Work {
	s := newSorting(n)
	return Work{
		Name:   fmt.Sprintf("work=sort/n=%d/cut=%d", n, n/parts),
		Serial: func() int { return s.run(func(u unsorted) { slices.SortFunc(u.data, cmp.Compare[int]) }) },
		Forked: func(r Rival) int { return s.run(func(u unsorted) { u.sortParts(r, n/parts) }) },
		Loop: func(p *forkjoin.Pool) int {
			return s.run(func(u unsorted) { forkjoin.SortFunc(p, u.data, cmp.Compare[int]) })
		},
	}
}

func (u unsorted) sortParts(r Rival, cut int) {
	if len(u.data) <= cut {
		data := u.data
		if u.inRoom {
			data = u.room[:copy(u.room, u.data)]
		}
		slices.SortFunc(data, cmp.Compare[int])
		return
	}
	first, second, merge := u.halves()
	r.fork(
		func() int { first.sortParts(r, cut); return 0 },
		func() int { second.sortParts(r, cut); return 0 })
	merge.mergeForked(r, cut)
}
