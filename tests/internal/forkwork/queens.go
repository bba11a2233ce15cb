package forkwork

import (
	"fmt"

	"fiberlab/sched/forkjoin"
)

// mostQueens is how many fit on a board.
const mostQueens = 15

// board has queens in its upper rows. It is small enough to be passed on by value.
type board struct {
	size   int8
	rows   int8 // how many have a queen
	column [mostQueens - 1]int8
}

// with returns the board with one more queen, in that column of the next row.
func (b board) with(column int) board {
	b.column[b.rows] = int8(column)
	b.rows++
	return b
}

// free reports whether no queen attacks that column of the next row.
func (b *board) free(column int) bool {
	for row := range b.rows {
		distance := int(b.rows - row)
		if c := int(b.column[row]); c == column || c == column-distance || c == column+distance {
			return false
		}
	}
	return true
}

// next returns the first free column of the next row that is not before column; the size of the board if there is none.
func (b *board) next(column int) int {
	for ; column < int(b.size); column++ {
		if b.free(column) {
			break
		}
	}
	return column
}

// Queens counts in how many ways n queens, 15 at most, can be on a board of n by n so that none attacks another. It
// forks for each free column of the upper rows, as many as cut says; of all if that is 0.
func Queens(n, cut int) Work {
	if n >= mostQueens {
		panic(fmt.Sprintf("forkwork: %d queens are too many: %d at most", n, mostQueens-1))
	}
	empty := board{size: int8(n)}
	w := Work{
		Name:   fmt.Sprintf("work=queens/n=%d/cut=%d", n, cut),
		Serial: func() int { return queens(empty) },
	}
	if cut == 0 {
		w.Name = fmt.Sprintf("work=queens/n=%d/cut=none", n)
		f := forkjoin.NewFunc(queensTyped)
		w.Typed = func(p *forkjoin.Pool) int { return f.Call(p, empty) }
		cut = n
	}
	w.Join = func(p *forkjoin.Pool) int { return queensJoin(p, empty, 0, cut) }
	w.Forked = func(r Rival) int { return queensForked(r, empty, 0, cut) }
	return w
}

func queens(b board) int {
	if b.rows == b.size {
		return 1
	}
	count := 0
	for column := b.next(0); column < int(b.size); column = b.next(column + 1) {
		count += queens(b.with(column))
	}
	return count
}

// queensForked counts the ways in which the next queen is in that column or a later one. It forks in two: the first
// such column, and the others.
func queensForked(r Rival, b board, column, cut int) int {
	if b.rows == b.size {
		return 1
	}
	if int(b.rows) >= cut {
		return queens(b)
	}
	column = b.next(column)
	if column == int(b.size) {
		return 0
	}
	after := b.next(column + 1)
	if after == int(b.size) {
		return queensForked(r, b.with(column), 0, cut)
	}
	first, others := r.fork(
		func() int { return queensForked(r, b.with(column), 0, cut) },
		func() int { return queensForked(r, b, after, cut) })
	return first + others
}

func queensJoin(p *forkjoin.Pool, b board, column, cut int) int {
	if b.rows == b.size {
		return 1
	}
	if int(b.rows) >= cut {
		return queens(b)
	}
	column = b.next(column)
	if column == int(b.size) {
		return 0
	}
	return queensJoinFree(p, b, column, b.next(column+1), cut)
}

// queensJoinFree is queensJoin where the first free column and the one after it are known.
func queensJoinFree(p *forkjoin.Pool, b board, column, after, cut int) int {
	if after == int(b.size) {
		return queensJoin(p, b.with(column), 0, cut)
	}
	first, others := forkjoin.Join(p,
		func(p *forkjoin.Pool) int { return queensJoin(p, b.with(column), 0, cut) },
		func(p *forkjoin.Pool) int { return queensJoin(p, b, after, cut) })
	return first + others
}

// queensTyped forks for all free columns but the first one.
func queensTyped(s *forkjoin.Strand[board, int], b board) int {
	if b.rows == b.size {
		return 1
	}
	first := b.next(0)
	if first == int(b.size) {
		return 0
	}
	var forked [mostQueens]forkjoin.Ticket
	forks := 0
	for column := b.next(first + 1); column < int(b.size); column = b.next(column + 1) {
		forked[forks] = s.Fork(b.with(column))
		forks++
	}
	count := queensTyped(s, b.with(first))
	for ; forks > 0; forks-- {
		count += s.Join(forked[forks-1])
	}
	return count
}
