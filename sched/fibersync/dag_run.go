package fibersync

import (
	"context"
	"fmt"
	"sync/atomic"

	"fiberlab/sched/park"
)

// dagRun is one run. Strands go through the graph, each with one node at a time. The caller is
// the first. At a node that makes several nodes ready, the strand goes on with one of them and
// starts a new strand for each of the others. So a sequence of nodes costs no switch, and no
// queue holds a task that cannot begin.
type dagRun[T any] struct {
	dag     *DAG[T]
	data    T
	ctx     context.Context
	awaits  []atomic.Int32        // of each node: the nodes before it that have not returned
	left    atomic.Int64          // nodes that have not returned
	strands atomic.Int64          // that have not ended
	caller  *waiter               // the last strand hands off to it, unless it is the caller's own
	failure atomic.Pointer[error] // the first one
}

// Run calls each node with data, after those before it have returned, and blocks the caller
// until all have returned. What a node does to the data is visible to the nodes after it.
//
// Nodes that are ready run concurrently: one on the caller, others as tasks of the caller's
// scheduler, or on goroutines if the caller has none; On chooses the scheduler. If a node
// panics, no further ones begin; Run waits for the nodes that run, and panics with an error that
// names the node and wraps a *PanicError. A node that calls Goexit in a task ends the program
// as any task does that calls it; on a goroutine, Run panics with an error that wraps
// ErrGoexit; in the caller, Goexit ends the caller after the others have returned.
func (d *DAG[T]) Run(data T) { _ = d.run(context.Background(), data) }

// RunContext is Run that begins no further nodes once ctx is done. It waits for the nodes that run.
// If a node has not run, it returns an error that wraps context.Cause(ctx); nil if all have.
func (d *DAG[T]) RunContext(ctx context.Context, data T) error {
	return d.run(within(ctx).Context, data)
}

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
		return fmt.Errorf("fibersync: a run of a DAG, with %d of %d nodes not begun: %w", left, len(d.nodes), park.ContextError(ctx))
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

// noNode is the ID of no node.
const noNode NodeID = -1

// walk calls the node, and then, one after the other, a node that the last one has made ready.
func (r *dagRun[T]) walk(id NodeID) {
	defer func() {
		if id != noNode {
			r.fail(id, recover())
		}
	}()
	for id != noNode && !r.stopped() {
		node := &r.dag.nodes[id]
		node.call(r.data)
		r.left.Add(-1)
		id = r.fork(node.then)
	}
	id = noNode
}

// stopped tells whether no further nodes may begin.
func (r *dagRun[T]) stopped() bool {
	return r.failure.Load() != nil || park.ContextError(r.ctx) != nil
}

// fork counts down what those nodes wait for. It returns a node that is ready, and starts a strand
// for each other ready node.
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

// start has a new strand begin with the node. If the scheduler does not accept the task, the
// strand runs here and now.
func (r *dagRun[T]) start(id NodeID) {
	r.strands.Add(1)
	if start(func() { r.follow(id) }) != nil {
		r.follow(id)
	}
}

// fail stores the panic of the node if it is the first failure. A nil value means that the node
// called Goexit.
func (r *dagRun[T]) fail(id NodeID, value any) {
	err := ErrGoexit
	if value != nil {
		err = panicError(value)
	}
	err = fmt.Errorf("fibersync: a run of a DAG: %s: %w", r.dag.name(id), err)
	r.failure.CompareAndSwap(nil, &err)
}
