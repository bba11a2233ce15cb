package forkwork

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/tests/internal/suite"
)

func TestMain(m *testing.M) { suite.Main(m) }

func TestMergesortSorts(t *testing.T) {
	for _, n := range []int{0, 1, shortRun, shortRun + 1, 1000} {
		s := newSorting(n)
		s.run(unsorted.sort)
		want := slices.Clone(s.input)
		slices.Sort(want)
		assert.Equal(t, want, s.data, "of %d numbers", n)
	}
}

// A merge in two parts makes the same as in one, wherever the elements of the two sequences lie.
func TestMergeInHalves(t *testing.T) {
	for _, m := range []merging{
		{left: []int{1, 2, 3, 4}, right: []int{5, 6, 7}},
		{left: []int{5, 6, 7}, right: []int{1, 2, 3, 4}},
		{left: []int{1, 3, 5}, right: []int{2, 4, 6, 8}},
		{left: []int{2, 2, 2}, right: []int{2, 2, 2, 2}},
		{left: []int{1, 2, 2, 9}, right: []int{2, 2, 3}},
	} {
		want := slices.Concat(m.left, m.right)
		slices.Sort(want)
		m.into = make([]int, len(want))
		first, second := m.halves()
		assert.NotEmpty(t, first.into, "of %v and %v", m.left, m.right)
		assert.NotEmpty(t, second.into, "of %v and %v", m.left, m.right)
		second.merge()
		first.merge()
		assert.Equal(t, want, m.into, "of %v and %v", m.left, m.right)
	}
}

func TestMatmulMultiplies(t *testing.T) {
	for _, n := range []int{1, block, block + 1, 70} {
		a := newMatrix(n, func(i int) float64 { return float64(i % 7) })
		b := newMatrix(n, func(i int) float64 { return float64(i % 5) })
		want := newMatrix(n, func(i int) float64 {
			sum := 0.0
			for k := range n {
				sum += a.of[i/n*n+k] * b.of[k*n+i%n]
			}
			return sum
		})
		m := multiplication{c: newMatrix(n, func(int) float64 { return 0 }), a: a, b: b}
		m.run(matmul)
		assert.Equal(t, want, m.c, "of %d by %d numbers", n, n)
	}
}

// The tree is out of balance: of the subtrees three levels below the root, some are many times as large as others.
func TestSearchIsUnbalanced(t *testing.T) {
	const levels = 9
	var sizes []int
	var visit func(p place)
	visit = func(p place) {
		if p.depth == 3 {
			sizes = append(sizes, search(p, levels))
			return
		}
		for i := range p.children(levels) {
			visit(p.child(i))
		}
	}
	visit(place{state: mix(4)})
	slices.Sort(sizes)
	assert.Greater(t, sizes[len(sizes)-1], 10*sizes[len(sizes)/4], "of %v", sizes)
}
