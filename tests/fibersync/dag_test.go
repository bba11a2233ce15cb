package fibersync_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/suite"
)

// dagVisits is the data of a run: what its nodes have done. Each knows its predecessors.
type dagVisits struct {
	before  [][]int
	begun   []atomic.Int32
	ended   []atomic.Int32
	early   atomic.Int32 // nodes that began before a predecessor had returned
	failing int          // the node that panics, or -1
	stop    context.CancelFunc
	stopper int // the node that calls stop, or -1
}

func newDAGVisits(before [][]int) *dagVisits {
	return &dagVisits{
		before: before, failing: -1, stopper: -1,
		begun: make([]atomic.Int32, len(before)), ended: make([]atomic.Int32, len(before)),
	}
}

var errDAGNode = errors.New("a node that panics")

func (v *dagVisits) visit(node int) {
	v.begun[node].Add(1)
	for _, b := range v.before[node] {
		if v.ended[b].Load() != 1 {
			v.early.Add(1)
		}
	}
	if node%3 == 0 {
		pause()
	}
	switch node {
	case v.failing:
		panic(errDAGNode)
	case v.stopper:
		v.stop()
	}
	v.ended[node].Add(1)
}

// check returns the number of nodes that have run. It fails the test if a node has run twice or too early.
func (v *dagVisits) check(t *testing.T) int {
	ran := 0
	for i := range v.begun {
		assert.LessOrEqual(t, v.begun[i].Load(), int32(1), "node %d", i)
		ran += int(v.begun[i].Load())
	}
	assert.Zero(t, v.early.Load(), "nodes that began too early")
	return ran
}

// randomDAG is a graph of n nodes, declared partly forwards and partly backwards, and what each comes
// after.
func randomDAG(t *testing.T, rng *rand.Rand, n int) (*fibersync.DAG[*dagVisits], [][]int) {
	var b fibersync.DAGBuilder[*dagVisits]
	order, before := rng.Perm(n), make([][]int, n)
	density := rng.Float64() / 2
	for i := range n {
		var after []fibersync.NodeID
		for j := range n {
			if order[j] < order[i] && rng.Float64() < density {
				before[i] = append(before[i], j)
				after = append(after, fibersync.NodeID(j))
			}
		}
		cut := rng.IntN(len(after) + 1)
		id := b.Node(func(v *dagVisits) { v.visit(i) }, after[:cut]...)
		b.After(id, after[cut:]...)
	}
	d, err := b.Build()
	require.NoError(t, err)
	return d, before
}

func TestDAGRunsEachNodeOnceAndInOrder(t *testing.T) {
	eachCompany(t, func(c *company) {
		rng := suite.NewRand(c.t)
		for range suite.Scaled(5, 2) {
			d, before := randomDAG(c.t, rng, 1+rng.IntN(40))
			for range 3 { // runs of one graph at the same time
				c.start(func() {
					for range 2 {
						v := newDAGVisits(before)
						d.Run(v)
						assert.Equal(c.t, len(before), v.check(c.t))
					}
				})
			}
			c.wait()
		}
	})
}

func TestDAGBeginsNothingOnceItsContextIsOver(t *testing.T) {
	eachCompany(t, func(c *company) {
		rng := suite.NewRand(c.t)
		for range suite.Scaled(10, 3) {
			n := 1 + rng.IntN(30)
			d, before := randomDAG(c.t, rng, n)
			stopper := rng.IntN(n + 1)
			c.start(func() {
				v := newDAGVisits(before)
				var ctx context.Context
				ctx, v.stop = context.WithCancel(context.Background())
				defer v.stop()
				v.stopper = stopper
				err := d.RunContext(ctx, v)
				if v.check(c.t) == n {
					assert.NoError(c.t, err, "all nodes have run")
				} else {
					assert.ErrorIs(c.t, err, context.Canceled)
				}
				for i := range before {
					assert.Equal(c.t, v.begun[i].Load(), v.ended[i].Load(), "RunContext has not waited for node %d", i)
				}
				over := newDAGVisits(before)
				v.stop()
				assert.ErrorIs(c.t, d.RunContext(ctx, over), context.Canceled)
				assert.Zero(c.t, over.check(c.t))
			})
		}
	})
}

func TestDAGGoesAlongAChainOnTheCaller(t *testing.T) {
	eachCompany(t, func(c *company) {
		const length, stopper = 10, 4
		var b fibersync.DAGBuilder[*[]uintptr]
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		link := func(by *[]uintptr) {
			if *by = append(*by, fiber.Self()); len(*by) == stopper {
				cancel()
			}
		}
		last := b.Node(link)
		for range length - 1 {
			last = b.Node(link, last)
		}
		d, err := b.Build()
		require.NoError(c.t, err)
		c.start(func() {
			var by []uintptr
			assert.ErrorIs(c.t, d.RunContext(ctx, &by), context.Canceled)
			assert.Len(c.t, by, stopper)
			d.Run(&by)
			assert.Len(c.t, by, stopper+length)
			for _, fiberID := range by {
				assert.Equal(c.t, fiber.Self(), fiberID)
			}
		})
		c.wait()
	})
}

// All nodes of a fan must be under way at once, for each waits for all.
func TestDAGRunsReadyNodesBesideOneAnother(t *testing.T) {
	eachCompany(t, func(c *company) {
		const width = 8
		var b fibersync.DAGBuilder[*fibersync.Latch]
		root := b.Node(func(*fibersync.Latch) {})
		meet := func(all *fibersync.Latch) {
			all.CountDown()
			all.Wait()
		}
		var fan []fibersync.NodeID
		for i := range width {
			if i%2 == 0 {
				fan = append(fan, b.Node(meet, root))
			} else {
				fan = append(fan, b.Node(meet))
			}
		}
		b.Node(func(all *fibersync.Latch) { assert.True(c.t, all.Open()) }, fan...)
		d, err := b.Build()
		require.NoError(c.t, err)
		for range 4 {
			c.start(func() { d.Run(fibersync.NewLatch(width)) })
		}
	})
}
