package fibersync

import (
	"context"
	"fmt"
	"sync/atomic"
)

// dagRun is one run. Strands go through the graph, each with one node at a time: the
// caller is the first, and at a node that makes several ready, the strand goes on with
// one of them and starts a strand beside it for each of the others. So what must be done
// one after the other costs no switch, and nothing is in any queue that cannot begin.
type dagRun[T any] struct {
	dag     *DAG[T]
	data    T
	ctx     context.Context
	awaits  []atomic.Int32        // of each node: the nodes before it that have not returned
	left    atomic.Int64          // nodes that have not returned
	strands atomic.Int64          // that have not ended
	caller  *waiter               // granted by the last strand, unless that is the caller's own
	failure atomic.Pointer[error] // the first one
}

// Run calls each node with data, after those before it have returned, and blocks the
// caller until all have returned. What a node does to what data points to is seen by the
// nodes after it.
//
// Nodes that are ready run in parallel: one on the caller, others as tasks of its
// scheduler, or on goroutines if the caller is a plain one. If a node panics, no further
// ones begin; Run waits for those that run, and panics with an error that names the node
// and wraps a *PanicError. A node that calls Goexit in a task ends the program as a task
// does; on a goroutine Run panics with an error that wraps ErrGoexit; in the caller
// it ends the caller, after the others.
func (d *DAG[T]) Run(data T) { _ = d.run(context.Background(), data) }

// RunContext is Run that begins no further nodes once ctx is over. It waits for those
// that run, and returns ctx's error if a node has not run; nil if all have.
func (d *DAG[T]) RunContext(ctx context.Context, data T) error { return d.run(within(ctx).ctx, data) }

func (d *DAG[T]) run(ctx context.Context, data T) error {
	r, ok := d.runs.Get().(*dagRun[T])
	if !ok {
		r = &dagRun[T]{dag: d, awaits: make([]atomic.Int32, len(d.nodes))}
	}
	r.data, r.ctx, r.caller = data, ctx, newWaiter()
	for i := range d.nodes {
		r.awaits[i].Store(d.nodes[i].awaits)
	}
	r.left.Store(int64(len(d.nodes)))
	r.strands.Store(1)
	r.lead()

	left, failure := r.left.Load(), r.failure.Load()
	r.caller.free()
	*r = dagRun[T]{dag: d, awaits: r.awaits}
	d.runs.Put(r)
	if failure != nil {
		panic(*failure)
	}
	if left > 0 {
		return fmt.Errorf("fibersync: a run of a DAG, with %d of %d nodes not begun: %w", left, len(d.nodes), contextError(ctx))
	}
	return nil
}

// lead is the caller's strand. It returns when all strands have ended.
func (r *dagRun[T]) lead() {
	defer func() {
		if r.strands.Add(-1) > 0 {
			_ = r.caller.await(until{})
		}
	}()
	r.walk(r.fork(r.dag.roots))
}

// follow is any other strand.
func (r *dagRun[T]) follow(id NodeID) {
	caller := r.caller
	defer func() {
		if r.strands.Add(-1) == 0 {
			caller.handOff()
		}
	}()
	r.walk(id)
}

// noNode is the number of none.
const noNode NodeID = -1

// walk calls the node, and one after the other of those that it makes ready.
func (r *dagRun[T]) walk(id NodeID) {
	defer func() {
		if id != noNode {
			r.fail(id, recover())
		}
	}()
	for id != noNode && !r.over() {
		node := &r.dag.nodes[id]
		node.call(r.data)
		r.left.Add(-1)
		id = r.fork(node.then)
	}
	id = noNode
}

// over tells whether no further nodes may begin.
func (r *dagRun[T]) over() bool {
	return r.failure.Load() != nil || contextError(r.ctx) != nil
}

// fork counts down what those nodes await. It returns one that is ready, and starts a
// strand for each other one that is.
func (r *dagRun[T]) fork(nodes []NodeID) NodeID {
	first := noNode
	for _, id := range nodes {
		if r.dag.nodes[id].awaits > 0 && r.awaits[id].Add(-1) > 0 {
			continue
		}
		if first != noNode {
			r.start(first)
		}
		first = id
	}
	return first
}

// start has a strand begin with the node. If the scheduler takes no task, the strand
// goes its way here and now.
func (r *dagRun[T]) start(id NodeID) {
	r.strands.Add(1)
	if start(func() { r.follow(id) }) != nil {
		r.follow(id)
	}
}

// fail keeps what the node panicked with, if it is the first. Nil means that it called Goexit.
func (r *dagRun[T]) fail(id NodeID, value any) {
	err := ErrGoexit
	if value != nil {
		err = panicError(value)
	}
	err = fmt.Errorf("fibersync: a run of a DAG: %s: %w", r.dag.name(id), err)
	r.failure.CompareAndSwap(nil, &err)
}
