package forkjoin_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/forkjoin"
	"fiberlab/tests/internal/forktest"
	"fiberlab/tests/internal/suite"
)

// way is how a node of a tree runs its children.
type way int

const (
	bySubmit way = iota // each a future; some are dropped, and all are fetched or dropped in any order
	byJoin
	byTyped
	byEvent // two futures, one of which waits for the other
	inPlace // by a call
	ways
)

// A node is one function call of a random program.
type node struct {
	id     uint64
	way    way
	kids   []*node
	order  []int // in which the kids are fetched
	panics bool  // when it has done all else
	yields bool
	sleeps bool
	sets   bool // it has a fiber-local value, if it is forked
	forked bool // it is another task than its parent: it begins without fiber-local values

	dropped bool // its future is dropped
	maybe   bool // it need not run, since what is around it panics or is dropped
	ran     atomic.Int32
	awaited *fibersync.Event // that it waits for
	signals *fibersync.Event
}

// randomTree returns a program of at most size nodes.
func randomTree(r *rand.Rand, size int) *node {
	var make func(depth int, maybe bool) *node
	id := uint64(0)
	make = func(depth int, maybe bool) *node {
		id++
		size--
		n := &node{id: id, way: way(r.IntN(int(ways))), maybe: maybe}
		n.yields, n.sleeps, n.sets = r.IntN(8) == 0, r.IntN(64) == 0, r.IntN(3) == 0
		n.panics = depth > 0 && r.IntN(12) == 0
		kids := r.IntN(4)
		if n.way == byJoin || n.way == byEvent {
			kids = 2
		}
		if size < kids || depth > 30 {
			n.way, kids = inPlace, 0
		}
		for i := range kids {
			dropped := n.way == bySubmit && r.IntN(5) == 0
			kid := make(depth+1, maybe || dropped)
			kid.dropped = dropped
			kid.forked = n.way == bySubmit || n.way == byEvent || i == 1 && n.way == byJoin || i > 0 && n.way == byTyped
			n.kids = append(n.kids, kid)
		}
		n.order = r.Perm(kids)
		switch {
		case n.way == byEvent:
			n.kids[0].awaited = new(fibersync.Event)
			n.kids[1].signals = n.kids[0].awaited
		case n.way == byTyped && r.IntN(2) == 0: // the quick order: the newest first
			for i := range n.order {
				n.order[i] = kids - 1 - i
			}
		}
		if n.way == byJoin || n.way == byTyped {
			for _, kid := range n.kids {
				if kid.panics { // then the others need not run
					n.eachBelow(func(n *node) { n.maybe = true })
				}
			}
		}
		return n
	}
	return make(0, false)
}

// eachBelow calls f for each node below n.
func (n *node) eachBelow(f func(*node)) {
	for _, kid := range n.kids {
		f(kid)
		kid.eachBelow(f)
	}
}

const (
	ofPanic = 1e9 + iota
	ofDrop
)

// want returns the value of n's kids and its own: what run returns, unless n panics.
func (n *node) want() uint64 {
	v := n.id
	var kids []uint64
	panics := false
	for _, kid := range n.kids {
		w := kid.want()
		switch {
		case kid.panics:
			panics, w = true, ofPanic
		case kid.dropped:
			w = ofDrop
		}
		if kid.dropped {
			w = ofDrop
		}
		kids = append(kids, w)
	}
	if panics && (n.way == byJoin || n.way == byTyped) {
		return v*31 + ofPanic
	}
	for _, w := range kids {
		v = v*31 + w
	}
	return v
}

// local is what the nodes that say so have while they run.
var local fibersync.Local[uint64]

// treeRun is one run of a tree.
type treeRun struct {
	t     *testing.T
	typed *forkjoin.Func[*node, uint64]
	alive atomic.Uint64 // grows
}

func newTreeRun(t *testing.T) *treeRun {
	r := &treeRun{t: t}
	r.typed = forkjoin.NewFunc(func(s *forkjoin.Strand[*node, uint64], n *node) uint64 { return r.run(s.Pool(), s, n) })
	return r
}

// run runs n, in a call of typed if s is not nil.
func (r *treeRun) run(p *forkjoin.Pool, s *forkjoin.Strand[*node, uint64], n *node) uint64 {
	r.alive.Add(1)
	if ran := n.ran.Add(1); ran != 1 {
		r.t.Errorf("node %d has run %d times", n.id, ran)
	}
	onFiber := sched.Current() != nil
	before, has := local.Get()
	if n.forked && has {
		r.t.Errorf("a task begins with the fiber-local value %d of another", before)
	}
	if n.signals != nil {
		n.signals.Signal()
	}
	if n.sets && n.forked && onFiber {
		local.Set(n.id)
		before, has = n.id, true
	}
	v := n.id
	r.kids(p, s, n, &v, has)
	switch {
	case n.yields && onFiber:
		sched.Yield()
	case n.yields:
		runtime.Gosched()
	case n.sleeps:
		_ = fibersync.Sleep(context.Background(), time.Microsecond)
	}
	if n.awaited != nil {
		n.awaited.Wait()
	}
	if after, still := local.Get(); still != has || after != before {
		r.t.Errorf("node %d has the fiber-local value %d (%t), after its kids %d (%t)", n.id, before, has, after, still)
	}
	if n.panics {
		panic(fmt.Errorf("deliberate: node %d", n.id))
	}
	return v
}

// kids runs the kids of n, which has a fiber-local value or not, and adds their values to v.
func (r *treeRun) kids(p *forkjoin.Pool, s *forkjoin.Strand[*node, uint64], n *node, v *uint64, has bool) {
	values := make([]uint64, len(n.kids))
	if !panicked(func() { r.kidsValues(p, s, n, values) }) {
		for _, w := range values {
			*v = *v*31 + w
		}
	} else {
		*v = *v*31 + ofPanic
		if n.way == byTyped && !has {
			local.Delete() // see Strand.Join
		}
	}
}

func (r *treeRun) kidsValues(p *forkjoin.Pool, s *forkjoin.Strand[*node, uint64], n *node, values []uint64) {
	switch n.way {
	case byJoin:
		values[0], values[1] = forkjoin.Join(p,
			func(p *forkjoin.Pool) uint64 { return r.run(p, nil, n.kids[0]) },
			func(p *forkjoin.Pool) uint64 { return r.run(p, nil, n.kids[1]) })
	case bySubmit, byEvent:
		futures := make([]*forkjoin.Future[uint64], len(n.kids))
		for i, kid := range n.kids {
			futures[i] = forkjoin.Submit(p, func(p *forkjoin.Pool) (uint64, error) { return r.run(p, nil, kid), nil })
		}
		for _, i := range n.order {
			if n.kids[i].dropped {
				futures[i].Drop()
				values[i] = ofDrop
			} else if panicked(func() { values[i], _ = futures[i].Get() }) {
				values[i] = ofPanic
			}
		}
	case byTyped:
		if len(n.kids) == 0 {
			return
		}
		if s == nil {
			for i, kid := range n.kids {
				kid.forked = false
				values[i] = r.typed.Call(p, kid)
			}
			return
		}
		tickets := make([]forkjoin.Ticket, len(n.kids))
		for i, kid := range n.kids[1:] {
			tickets[i+1] = s.Fork(kid)
		}
		values[0] = r.run(p, s, n.kids[0])
		for _, i := range n.order {
			if i > 0 {
				values[i] = s.Join(tickets[i])
			}
		}
	default:
		for i, kid := range n.kids {
			if panicked(func() { values[i] = r.run(p, s, kid) }) {
				values[i] = ofPanic
			}
		}
	}
}

// panicked calls f, and reports whether it has panicked with an error of a node.
func panicked(f func()) (panicked bool) {
	returned := false
	defer func() {
		if !returned {
			value := recover()
			if _, ok := value.(error); !ok {
				panic(value)
			}
			panicked = true
		}
	}()
	f()
	returned = true
	return false
}

// check checks which nodes have run.
func (r *treeRun) check(n *node) {
	if n.ran.Load() == 0 && !n.maybe && !n.dropped {
		r.t.Errorf("node %d has not run", n.id)
	}
	for _, kid := range n.kids {
		r.check(kid)
	}
}

// Random programs of all that a pool offers compute what they compute without one, and each task runs once.
func TestRandomTrees(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		r := suite.NewRand(t)
		run := newTreeRun(t)
		for range suite.Scaled(6, 1) {
			from := r.Uint64()
			root := func() *node { return randomTree(rand.New(rand.NewPCG(from, 1)), 200) }
			forktest.FromEach(t, s, p, func(p *forkjoin.Pool) {
				n := root()
				n.forked = false
				want := n.want()
				assert.Equal(t, want, run.run(p, nil, n), "seed of the tree %d", from)
				run.check(n)
			})
			if t.Failed() {
				return
			}
		}
	})
}

// The same, by four tasks at once, while the collector is busy: it must find what waits in queues, slots and deques,
// and clear what has gone.
func TestRandomTreesBesideTheCollector(t *testing.T) {
	forktest.EachConfig(t, suite.Over{Workers: []int{2, 4}}, func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
		forktest.OnPool(t, cfg, forkjoin.Config{Form: form}, func(t *testing.T, _ *sched.Scheduler, p *forkjoin.Pool) {
			suite.KeepCollecting(t)
			r := suite.NewRand(t)
			for range suite.Scaled(3, 1) {
				var futures []*forkjoin.Future[uint64]
				var want []uint64
				for range 4 {
					from := r.Uint64()
					n := randomTree(rand.New(rand.NewPCG(from, 1)), 200)
					n.forked = false
					want = append(want, n.want())
					run := newTreeRun(t)
					futures = append(futures, forkjoin.Submit(p, func(p *forkjoin.Pool) (uint64, error) {
						v := run.run(p, nil, n)
						run.check(n)
						return v, nil
					}))
				}
				for i, f := range futures {
					v, err := f.Get()
					assert.NoError(t, err)
					assert.Equal(t, want[i], v)
				}
			}
		})
	})
}
