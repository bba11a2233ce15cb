package fibersync

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// The errors of a graph of functions. The errors of Build name each node that they concern.
var (
	ErrNoNodes     = errors.New("the graph has no nodes: add one with Node")
	ErrUnknownNode = errors.New("the builder has no such node: add nodes with Node")
	ErrCycle       = errors.New(
		"the node comes after itself, and no node of the cycle could begin: leave out one of its edges",
	)
)

// NodeID names a node of one graph: it is the number of nodes declared before it.
type NodeID int

// DAGBuilder declares a directed acyclic graph of functions, marl's DAGBuilder. Fan-out is
// several nodes after one, fan-in one node after several:
//
//	var b fibersync.DAGBuilder[*page]
//	read := b.Node((*page).read)
//	words := b.Node((*page).countWords, read)
//	links := b.Node((*page).findLinks, read)
//	b.Node((*page).report, words, links)
//	dag, err := b.Build()
//	...
//	dag.Run(&page{name: "index"}) // again and again, with another page
//
// The zero value is empty. Only one goroutine at a time may use it.
type DAGBuilder[T any] struct {
	funcs []func(T)
	after [][]NodeID
}

// Node adds a node, which calls f once in each run, with the run's data, after all the nodes in
// after have returned. A node that comes after none is a root, and begins with the run. Build
// reports errors.
func (b *DAGBuilder[T]) Node(f func(T), after ...NodeID) NodeID {
	b.funcs = append(b.funcs, f)
	b.after = append(b.after, slices.Clone(after))
	return NodeID(len(b.funcs) - 1)
}

// After has a node, which has been added, come after those nodes too. They may be added later,
// before Build. It panics with an error that wraps ErrUnknownNode if there is no such node.
func (b *DAGBuilder[T]) After(node NodeID, after ...NodeID) {
	if !b.has(node) {
		panic(fmt.Errorf("fibersync: order node %d after %v: %w", node, after, ErrUnknownNode))
	}
	b.after[node] = append(b.after[node], after...)
}

// Build returns the graph, which later changes of the builder do not affect. The error wraps
// ErrNoNodes, ErrNilFunc, ErrUnknownNode or ErrCycle, or several of them.
func (b *DAGBuilder[T]) Build() (*DAG[T], error) {
	if len(b.funcs) == 0 {
		return nil, fmt.Errorf("fibersync: build a DAG: %w", ErrNoNodes)
	}
	d := &DAG[T]{nodes: make([]node[T], len(b.funcs))}
	var wrong []error
	for i, f := range b.funcs {
		d.nodes[i].call, d.nodes[i].awaits = f, int32(len(b.after[i]))
		if f == nil {
			wrong = append(wrong, fmt.Errorf("fibersync: build a DAG: node %d: %w", i, ErrNilFunc))
		}
		for _, id := range b.after[i] {
			if !b.has(id) {
				wrong = append(
					wrong,
					fmt.Errorf("fibersync: build a DAG: %v after node %d: %w", d.name(NodeID(i)), id, ErrUnknownNode),
				)
				continue
			}
			d.nodes[id].then = append(d.nodes[id].then, NodeID(i))
		}
		if len(b.after[i]) == 0 {
			d.roots = append(d.roots, NodeID(i))
		}
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	if cycle := b.cycle(d); cycle != nil {
		return nil, fmt.Errorf("fibersync: build a DAG: %s: %w", d.path(cycle), ErrCycle)
	}
	return d, nil
}

// cycle returns nodes of which each comes after the one before it, and the first after the
// last; nil if there are none.
func (b *DAGBuilder[T]) cycle(d *DAG[T]) []NodeID {
	// Repeatedly remove the nodes that come after none that is left.
	awaits := make([]int32, len(d.nodes))
	for i := range d.nodes {
		awaits[i] = d.nodes[i].awaits
	}
	ready := slices.Clone(d.roots)
	for ; len(ready) > 0; ready = ready[1:] {
		for _, id := range d.nodes[ready[0]].then {
			if awaits[id]--; awaits[id] == 0 {
				ready = append(ready, id)
			}
		}
	}
	id := NodeID(slices.IndexFunc(awaits, func(n int32) bool { return n > 0 }))
	if id < 0 {
		return nil
	}
	// Each node that is left comes after another such node: go back until a node repeats.
	var back []NodeID
	for !slices.Contains(back, id) {
		back = append(back, id)
		id = b.after[id][slices.IndexFunc(b.after[id], func(before NodeID) bool { return awaits[before] > 0 })]
	}
	back = back[slices.Index(back, id):]
	slices.Reverse(back)
	return back
}

func (b *DAGBuilder[T]) has(id NodeID) bool { return id >= 0 && int(id) < len(b.funcs) }

// node is one function of a graph.
type node[T any] struct {
	call   func(T)
	awaits int32    // how many nodes it comes after
	then   []NodeID // which nodes come after it
}

// path names the nodes of a cycle.
func (d *DAG[T]) path(cycle []NodeID) string {
	var text strings.Builder
	for _, id := range cycle {
		text.WriteString(d.name(id) + " -> ")
	}
	return text.String() + d.name(cycle[0])
}

// name is the node's number and the name of its function.
func (d *DAG[T]) name(id NodeID) string {
	if f := d.nodes[id].call; f != nil {
		return fmt.Sprintf("node %d (%s)", id, runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name())
	}
	return fmt.Sprintf("node %d", id)
}

// DAG is a graph of functions, each of which is called when all those before it have returned;
// see dag_run.go. It never changes, and any number of runs may be under way at once. Make one
// by DAGBuilder.Build. It must not be copied.
type DAG[T any] struct {
	nodes []node[T]
	roots []NodeID
	runs  sync.Pool // of *dagRun[T], which have ended
}
