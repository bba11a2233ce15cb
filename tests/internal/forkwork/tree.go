package forkwork

import (
	"fmt"

	"fiberlab/sched/forkjoin"
)

// node is a node of a binary tree.
type node struct {
	left, right *node
	value       int
	rounds      int // what it costs to read the value
}

// newTree returns a tree of so many nodes, all leaves of which are in the last two levels.
func newTree(nodes, rounds int) *node {
	all := make([]node, nodes)
	next := 0
	var grow func(nodes int) *node
	grow = func(nodes int) *node {
		if nodes == 0 {
			return nil
		}
		n := &all[next]
		n.value = next
		n.rounds = rounds
		next++
		n.left = grow((nodes - 1) / 2)
		n.right = grow(nodes - 1 - (nodes-1)/2)
		return n
	}
	return grow(nodes)
}

// read computes for as many rounds as the node says, and returns a number.
func (n *node) read() int {
	x := uint64(n.value)
	for range n.rounds {
		x = mix(x)
	}
	return int(x)
}

// Sum adds up the values of a tree of so many nodes. It forks at each node of the upper levels, as many as cut says;
// at all if that is 0. Reading a value takes so many rounds of a hash; with none it is a load.
func Sum(nodes, rounds, cut int) Work {
	w := Work{Name: fmt.Sprintf("work=sum/nodes=%d/rounds=%d/cut=%d", nodes, rounds, cut)}
	root := newTree(nodes, rounds)
	typed := sumTyped
	if rounds == 0 {
		w.Serial = func() int { return sum(root) }
		w.Forked = func(r Rival) int { return sumForked(r, root, cut) }
		w.Join = func(p *forkjoin.Pool) int { return sumJoin(p, root, cut) }
	} else {
		typed = sumReadTyped
		w.Serial = func() int { return sumRead(root) }
		w.Forked = func(r Rival) int { return sumReadForked(r, root, cut) }
		w.Join = func(p *forkjoin.Pool) int { return sumReadJoin(p, root, cut) }
	}
	if cut == 0 {
		w.Name = fmt.Sprintf("work=sum/nodes=%d/rounds=%d/cut=none", nodes, rounds)
		f := forkjoin.NewFunc(typed)
		w.Typed = func(p *forkjoin.Pool) int { return f.Call(p, root) }
		cut = nodes // there are fewer levels
	}
	return w
}

func sum(n *node) int {
	if n == nil {
		return 0
	}
	return n.value + sum(n.left) + sum(n.right)
}

func sumForked(r Rival, n *node, cut int) int {
	if n == nil {
		return 0
	}
	if cut == 0 {
		return sum(n)
	}
	left, right := r.fork(
		func() int { return sumForked(r, n.left, cut-1) },
		func() int { return sumForked(r, n.right, cut-1) })
	return n.value + left + right
}

func sumRead(n *node) int {
	if n == nil {
		return 0
	}
	return n.read() + sumRead(n.left) + sumRead(n.right)
}

func sumReadForked(r Rival, n *node, cut int) int {
	if n == nil {
		return 0
	}
	if cut == 0 {
		return sumRead(n)
	}
	left, right := r.fork(
		func() int { return sumReadForked(r, n.left, cut-1) },
		func() int { return sumReadForked(r, n.right, cut-1) })
	return n.read() + left + right
}

func sumJoin(p *forkjoin.Pool, n *node, cut int) int {
	if n == nil {
		return 0
	}
	if cut == 0 {
		return sum(n)
	}
	left, right := forkjoin.Join(p,
		func(p *forkjoin.Pool) int { return sumJoin(p, n.left, cut-1) },
		func(p *forkjoin.Pool) int { return sumJoin(p, n.right, cut-1) })
	return n.value + left + right
}

func sumReadJoin(p *forkjoin.Pool, n *node, cut int) int {
	if n == nil {
		return 0
	}
	if cut == 0 {
		return sumRead(n)
	}
	left, right := forkjoin.Join(p,
		func(p *forkjoin.Pool) int { return sumReadJoin(p, n.left, cut-1) },
		func(p *forkjoin.Pool) int { return sumReadJoin(p, n.right, cut-1) })
	return n.read() + left + right
}

func sumTyped(s *forkjoin.Strand[*node, int], n *node) int {
	if n == nil {
		return 0
	}
	t := s.Fork(n.right)
	left := sumTyped(s, n.left)
	return n.value + left + s.Join(t)
}

func sumReadTyped(s *forkjoin.Strand[*node, int], n *node) int {
	if n == nil {
		return 0
	}
	t := s.Fork(n.right)
	left := sumReadTyped(s, n.left)
	return n.read() + left + s.Join(t)
}
