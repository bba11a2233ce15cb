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
		s.run(mergesort)
		want := slices.Clone(s.input)
		slices.Sort(want)
		assert.Equal(t, want, s.data, "of %d numbers", n)
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
