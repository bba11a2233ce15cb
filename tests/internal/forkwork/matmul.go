package forkwork

import (
	"fmt"
	"math"

	"fiberlab/sched/forkjoin"
)

// matrix is a part of a matrix whose rows are stride numbers apart.
type matrix struct {
	rows, columns, stride int
	of                    []float64
}

func newMatrix(n int, value func(i int) float64) matrix {
	m := matrix{rows: n, columns: n, stride: n, of: make([]float64, n*n)}
	for i := range m.of {
		m.of[i] = value(i)
	}
	return m
}

// part returns the part of m that begins at that row and column.
func (m matrix) part(row, column, rows, columns int) matrix {
	return matrix{rows: rows, columns: columns, stride: m.stride, of: m.of[row*m.stride+column:]}
}

// halves cuts m below its middle row.
func (m matrix) halves() (upper, lower matrix) {
	half := m.rows / 2
	return m.part(0, 0, half, m.columns), m.part(half, 0, m.rows-half, m.columns)
}

// sides cuts m right of its middle column.
func (m matrix) sides() (left, right matrix) {
	half := m.columns / 2
	return m.part(0, 0, m.rows, half), m.part(0, half, m.rows, m.columns-half)
}

// block is the most rows and columns that are multiplied by loops.
const block = 32

// multiplication is c += a * b.
type multiplication struct{ c, a, b matrix }

// run clears c, calls multiply, and returns a number that depends on all of c.
func (m *multiplication) run(multiply func(m multiplication)) int {
	clear(m.c.of)
	multiply(*m)
	check := uint64(0)
	for _, v := range m.c.of {
		check = check*31 + math.Float64bits(v)
	}
	return int(check)
}

// size is the largest of the three that it has.
func (m *multiplication) size() int { return max(m.a.rows, m.a.columns, m.b.columns) }

// Matmul multiplies two matrices of n by n numbers by halves, down to blocks of 32. It forks where the halves are of
// the result, for more than cut rows or columns of it. All ways add in the same order, so the sums are the same to the
// last bit.
func Matmul(n, cut int) Work {
	number := func(seed uint64) func(i int) float64 {
		return func(i int) float64 { return float64(mix(seed+uint64(i))%1000) / 7 }
	}
	m := &multiplication{
		c: newMatrix(n, func(int) float64 { return 0 }),
		a: newMatrix(n, number(0)),
		b: newMatrix(n, number(1<<32)),
	}
	w := Work{
		Name:   fmt.Sprintf("work=matmul/n=%d/cut=%d", n, cut),
		Serial: func() int { return m.run(matmul) },
		Forked: func(r Rival) int { return m.run(func(m multiplication) { matmulForked(r, m, cut) }) },
		Join:   func(p *forkjoin.Pool) int { return m.run(func(m multiplication) { matmulJoin(p, m, cut) }) },
	}
	if cut == 0 {
		w.Name = fmt.Sprintf("work=matmul/n=%d/cut=none", n)
		f := forkjoin.NewFunc(matmulTyped)
		w.Typed = func(p *forkjoin.Pool) int { return m.run(func(m multiplication) { f.Call(p, m) }) }
	}
	return w
}

// split cuts m in two. If independent, they may be computed at the same time; otherwise both add to the same c, and the
// first comes first.
func (m multiplication) split() (first, second multiplication, independent bool) {
	first, second = m, m
	switch m.size() {
	case m.a.rows:
		first.a, second.a = m.a.halves()
		first.c, second.c = m.c.halves()
		return first, second, true
	case m.b.columns:
		first.b, second.b = m.b.sides()
		first.c, second.c = m.c.sides()
		return first, second, true
	}
	first.a, second.a = m.a.sides()
	first.b, second.b = m.b.halves()
	return first, second, false
}

func matmul(m multiplication) {
	if m.size() <= block {
		multiplyBlock(m)
		return
	}
	first, second, _ := m.split()
	matmul(first)
	matmul(second)
}

func matmulForked(r Rival, m multiplication, cut int) {
	if m.size() <= block || m.size() <= cut {
		matmul(m)
		return
	}
	first, second, independent := m.split()
	if !independent {
		matmulForked(r, first, cut)
		matmulForked(r, second, cut)
		return
	}
	r.fork(
		func() int { matmulForked(r, first, cut); return 0 },
		func() int { matmulForked(r, second, cut); return 0 })
}

func matmulJoin(p *forkjoin.Pool, m multiplication, cut int) {
	if m.size() <= block || m.size() <= cut {
		matmul(m)
		return
	}
	first, second, independent := m.split()
	if !independent {
		matmulJoin(p, first, cut)
		matmulJoin(p, second, cut)
		return
	}
	forkjoin.Join(p,
		func(p *forkjoin.Pool) struct{} { matmulJoin(p, first, cut); return struct{}{} },
		func(p *forkjoin.Pool) struct{} { matmulJoin(p, second, cut); return struct{}{} })
}

func matmulTyped(s *forkjoin.Strand[multiplication, struct{}], m multiplication) struct{} {
	if m.size() <= block {
		multiplyBlock(m)
		return struct{}{}
	}
	first, second, independent := m.split()
	if !independent {
		matmulTyped(s, first)
		return matmulTyped(s, second)
	}
	t := s.Fork(second)
	matmulTyped(s, first)
	return s.Join(t)
}

func multiplyBlock(m multiplication) {
	for i := range m.a.rows {
		row := m.c.of[i*m.c.stride:][:m.c.columns]
		for k := range m.a.columns {
			factor := m.a.of[i*m.a.stride+k]
			for j, v := range m.b.of[k*m.b.stride:][:m.b.columns] {
				row[j] += float64(factor * v)
			}
		}
	}
}
