package fibersync

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"fiberlab/sched/park"
)

// dagRun is one run. Strands go through the graph, each with one node at a time. The caller is
// the first. When a node makes several nodes ready, the strand goes on with one of them and opens a new strand for each
// of the others. A helper claims a new strand, or the caller does when it has nothing else to do. So a sequence of
// nodes costs no switch, and no queue holds a task that cannot begin.
type dagRun[T any] struct {
	dag     *DAG[T]
	data    T
	ctx     context.Context
	awaits  []atomic.Int32        // of each node: the nodes before it that have not returned
	left    atomic.Int64          // nodes that have not returned
	strands atomic.Int64          // that have not ended
	caller  *waiter               // the last strand hands off to it, unless it is the caller's own
	failure atomic.Pointer[error] // the first panic of a node or, if there is none, the first Goexit

	list    *openCalls
	byNode  []strand[T] // by the node with which the strand begins
	opened  []NodeID    // the strands, in the order in which they were opened. The list's mu guards this and the next
	claimed int         // how many of them the caller has looked at
}

// strand is a strand that has been opened.
type strand[T any] struct {
	open   openCall
	status status
	run    *dagRun[T]
	id     NodeID
}

// Run calls each node with data, after those before it have returned, and blocks the caller
// until all have returned. What a node does to the data is visible to the nodes after it.
//
// Nodes that are ready run concurrently: one on the caller, others as tasks of the caller's scheduler, or on goroutines
// if the caller has none; On chooses the scheduler. When the caller has no node to go on with, it runs those that no
// other worker has begun. If a node panics, no further ones begin; Run waits for the nodes that run, and panics with an
// error that names the node and wraps a *PanicError. If a node calls Goexit in a task, the program ends, as when any
// task calls it. If it does so on a goroutine, Run panics with an error that wraps ErrGoexit. If it does so in the
// caller, the caller ends after the others have returned.
func (d *DAG[T]) Run(data T) { _ = d.run(context.Background(), data) }

// RunContext is Run that begins no further nodes once ctx is done. It waits for the nodes that run.
// If a node has not run, it returns an error that wraps context.Cause(ctx); nil if all have.
func (d *DAG[T]) RunContext(ctx context.Context, data T) error {
	return d.run(within(ctx).Context, data)
}

func (d *DAG[T]) run(ctx context.Context, data T) error {
	r, ok := d.runs.Get().(*dagRun[T])
	if !ok {
		r = &dagRun[T]{dag: d, awaits: make([]atomic.Int32, len(d.nodes)), byNode: make([]strand[T], len(d.nodes))}
	}
	if r.list = callersList(); r.list == nil {
		r.list = new(openCalls)
	}
	r.data, r.ctx, r.caller = data, ctx, newWaiter(nil)
	for i := range d.nodes {
		r.awaits[i].Store(d.nodes[i].awaits)
	}
	r.left.Store(int64(len(d.nodes)))
	r.strands.Store(1)
	r.lead()

	left := r.left.Load()
	r.caller.free()
	r.list.letHelperBegin()
	*r = dagRun[T]{dag: d, awaits: r.awaits, byNode: r.byNode, opened: r.opened[:0]}
	d.runs.Put(r)
	if left > 0 {
		return fmt.Errorf(
			"fibersync: a run of a DAG, with %d of %d nodes not begun: %w", left, len(d.nodes), park.ContextError(ctx),
		)
	}
	return nil
}

// lead is the caller's strand, and after it those that it can claim. When all strands have ended, it returns, or panics
// with the failure. The Goexit of a node in the caller goes on, unless a node has panicked.
func (r *dagRun[T]) lead() {
	goexit := true
	defer func() {
		if r.strands.Add(-1) > 0 {
			_ = r.caller.await(until{})
		}
		if failure := r.failure.Load(); failure != nil && !(goexit && errors.Is(*failure, ErrGoexit)) {
			panic(*failure)
		}
	}()
	r.walk(r.fork(r.dag.roots))
	for s := r.claim(); s != nil; s = r.claim() {
		r.strands.Add(-1) // it becomes part of the caller's
		r.walk(s.id)
	}
	goexit = false
}

// begin goes along a strand that a helper has claimed.
func (s *strand[T]) begin() {
	r, caller := s.run, s.run.caller
	defer func() {
		if r.strands.Add(-1) == 0 {
			caller.handOff()
		}
	}()
	r.walk(s.id)
}

// open opens a strand that begins with the node.
func (r *dagRun[T]) open(id NodeID) {
	r.strands.Add(1)
	s, l := &r.byNode[id], r.list
	s.run, s.id = r, id
	s.status.reset()
	s.open.status, s.open.call = &s.status, s
	l.mu.Lock()
	start := l.push(&s.open)
	r.opened = append(r.opened, id)
	l.mu.Unlock()
	if start {
		l.startHelper()
	}
}

// claim claims a strand of the run that has not begun, or returns nil if there is none.
func (r *dagRun[T]) claim() *strand[T] {
	r.list.mu.Lock()
	defer r.list.mu.Unlock()
	for r.claimed < len(r.opened) {
		s := &r.byNode[r.opened[r.claimed]]
		r.claimed++
		if r.list.claimLocked(&s.open) {
			return s
		}
	}
	return nil
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

// stopped reports whether no further nodes may begin.
func (r *dagRun[T]) stopped() bool {
	return r.failure.Load() != nil || park.ContextError(r.ctx) != nil
}

// fork counts down what those nodes wait for. It returns a node that is ready, and opens a strand
// for each other ready node.
func (r *dagRun[T]) fork(nodes []NodeID) NodeID {
	first := noNode
	for _, id := range nodes {
		if r.dag.nodes[id].awaits > 0 && r.awaits[id].Add(-1) > 0 {
			continue
		}
		if first != noNode {
			r.open(first)
		}
		first = id
	}
	return first
}

// fail stores the panic or the Goexit of the node, unless one of the same kind, or a panic, is stored already. A nil
// value means that the node called Goexit.
func (r *dagRun[T]) fail(id NodeID, value any) {
	err := ErrGoexit
	if value != nil {
		err = AsPanicError(value)
	}
	err = fmt.Errorf("fibersync: a run of a DAG: %s: %w", r.dag.name(id), err)
	if r.failure.CompareAndSwap(nil, &err) || value == nil {
		return
	}
	if old := r.failure.Load(); errors.Is(*old, ErrGoexit) {
		r.failure.CompareAndSwap(old, &err)
	}
}
