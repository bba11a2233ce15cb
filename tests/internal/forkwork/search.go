package forkwork

import (
	"fmt"

	"fiberlab/sched/forkjoin"
)

// place is a node of a tree that is not in memory: its children are computed from it. How large a subtree is cannot be
// told before it has been searched.
type place struct {
	state uint64
	depth int
}

// meanChildren is how many children a node above the last level has, on average. The numbers have a geometric
// distribution: most nodes have few or none, some have many.
const meanChildren = 4

// children is the number of the place's children in a tree of so many levels.
func (p place) children(levels int) int {
	if p.depth+1 >= levels {
		return 0
	}
	if p.depth == 0 {
		return meanChildren
	}
	draw := p.state >> 32
	count := 0
	// One more child has the probability of meanChildren in meanChildren+1, again and again.
	more := uint64(1<<32) / (meanChildren + 1) * meanChildren
	for ; draw < more; more = more / (meanChildren + 1) * meanChildren {
		count++
	}
	return count
}

func (p place) child(i int) place {
	return place{state: mix(p.state + uint64(i)), depth: p.depth + 1}
}

// Search counts the nodes of a tree of so many levels that is out of balance: UTS, the unbalanced tree search, with a
// geometric tree and a cheap hash. It forks for each child of the upper levels, as many as cut says;
// of all if that is 0.
func Search(seed uint64, levels, cut int) Work {
	root := place{state: mix(seed)}
	w := Work{
		Name:   fmt.Sprintf("work=search/levels=%d/cut=%d", levels, cut),
		Serial: func() int { return search(root, levels) },
	}
	if cut == 0 {
		w.Name = fmt.Sprintf("work=search/levels=%d/cut=none", levels)
		f := forkjoin.NewFunc(searchTyped)
		w.Typed = func(p *forkjoin.Pool) int { return f.Call(p, region{root, levels}) }
		cut = levels
	}
	w.Join = func(p *forkjoin.Pool) int { return searchJoin(p, root, levels, cut) }
	w.Forked = func(r Rival) int { return searchForked(r, root, levels, cut) }
	return w
}

func search(p place, levels int) int {
	nodes := 1
	for i := range p.children(levels) {
		nodes += search(p.child(i), levels)
	}
	return nodes
}

func searchForked(r Rival, p place, levels, cut int) int {
	if p.depth >= cut {
		return search(p, levels)
	}
	if children := p.children(levels); children > 0 {
		return 1 + searchForkedFrom(r, p, 0, children, levels, cut)
	}
	return 1
}

// searchForkedFrom counts the nodes below the children of p from the i-th on. It forks in two:
// that child, and the others.
func searchForkedFrom(r Rival, p place, i, children, levels, cut int) int {
	if i+1 == children {
		return searchForked(r, p.child(i), levels, cut)
	}
	first, others := r.fork(
		func() int { return searchForked(r, p.child(i), levels, cut) },
		func() int { return searchForkedFrom(r, p, i+1, children, levels, cut) })
	return first + others
}

func searchJoin(p *forkjoin.Pool, at place, levels, cut int) int {
	if at.depth >= cut {
		return search(at, levels)
	}
	if children := at.children(levels); children > 0 {
		return 1 + searchJoinFrom(p, at, 0, children, levels, cut)
	}
	return 1
}

func searchJoinFrom(p *forkjoin.Pool, at place, i, children, levels, cut int) int {
	if i+1 == children {
		return searchJoin(p, at.child(i), levels, cut)
	}
	first, others := forkjoin.Join(p,
		func(p *forkjoin.Pool) int { return searchJoin(p, at.child(i), levels, cut) },
		func(p *forkjoin.Pool) int { return searchJoinFrom(p, at, i+1, children, levels, cut) })
	return first + others
}

// region is what searchTyped searches.
type region struct {
	place
	levels int
}

// searchTyped forks for all children but the first one.
func searchTyped(s *forkjoin.Strand[region, int], r region) int {
	children := r.children(r.levels)
	if children == 0 {
		return 1
	}
	forked := make([]forkjoin.Ticket, 0, 4*meanChildren)
	for i := 1; i < children; i++ {
		forked = append(forked, s.Fork(region{r.child(i), r.levels}))
	}
	nodes := 1 + searchTyped(s, region{r.child(0), r.levels})
	for i := len(forked) - 1; i >= 0; i-- {
		nodes += s.Join(forked[i])
	}
	return nodes
}
