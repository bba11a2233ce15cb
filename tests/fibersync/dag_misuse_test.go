package fibersync_test

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/leaks"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

func TestDAGPanicOfANodeIsTheRuns(t *testing.T) {
	eachCompany(t, func(c *company) {
		rng := suite.NewRand(c.t)
		for range suite.Scaled(10, 3) {
			n := 1 + rng.IntN(30)
			d, before := randomDAG(c.t, rng, n)
			failing := rng.IntN(n)
			c.start(func() {
				v := newDAGVisits(before)
				v.failing = failing
				failure := dagPanic(func() { d.Run(v) })
				assert.ErrorIs(c.t, failure, errDAGNode)
				assert.ErrorContains(c.t, failure, "randomDAG")
				if stack := (*fibersync.PanicError)(nil); assert.ErrorAs(c.t, failure, &stack) {
					assert.Contains(c.t, string(stack.Stack), "visit")
				}
				v.check(c.t)
				for i := range before {
					if i != failing {
						assert.Equal(c.t, v.begun[i].Load(), v.ended[i].Load(), "Run has not waited for node %d", i)
					}
				}
				again := newDAGVisits(before)
				d.Run(again)
				assert.Equal(c.t, n, again.check(c.t), "the next run of the same graph")
			})
		}
	})
}

func TestDAGBeginsNothingAfterAPanic(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		var b fibersync.DAGBuilder[int]
		var failed, after bool
		b.Node(func(int) {
			failed = true
			panic(errDAGNode)
		})
		beside := b.Node(func(int) {
			for !failed { // with one thread, it is over when this goes on
				sched.Yield()
			}
		})
		b.Node(func(int) { after = true }, beside)
		d, err := b.Build()
		require.NoError(t, err)
		schedtest.Perform(t, s, func() { assert.ErrorIs(t, dagPanic(func() { d.Run(0) }), errDAGNode) })
		assert.False(t, after, "a node has begun after a panic")
	})
}

// dagPanic returns what f panics with.
func dagPanic(f func()) (failure error) {
	defer func() { failure, _ = recover().(error) }()
	f()
	return nil
}

func TestDAGNodeThatCallsGoexit(t *testing.T) {
	caller := fiber.Self()
	all := fibersync.NewBarrier(4)
	var b fibersync.DAGBuilder[int]
	for range 4 {
		b.Node(func(int) {
			all.Wait() // none begins after another has ended
			if fiber.Self() != caller {
				runtime.Goexit()
			}
		})
	}
	d, err := b.Build()
	require.NoError(t, err)
	assert.ErrorIs(t, dagPanic(func() { d.Run(0) }), fibersync.ErrGoexit)

	ended := make(chan bool)
	go func() {
		defer close(ended)
		d.Run(0) // each of the four exits, that on the caller too
		ended <- true
	}()
	assert.False(t, <-ended, "Run returned to a goroutine that had called Goexit")
}

// A Goexit of the caller does not hide a panic, be it of another node, before or after, or of a deferred function.
func TestDAGGoexitHidesNoPanic(t *testing.T) {
	leaks.Check(t)
	for name, x := range map[string]struct {
		nodes              int
		exitLate, failLate bool
	}{"before": {2, true, false}, "after": {2, false, true}, "deferred": {nodes: 1}} {
		var caller uintptr
		all := fibersync.NewBarrier(x.nodes)
		var b fibersync.DAGBuilder[int]
		for range x.nodes {
			b.Node(func(int) {
				all.Wait()
				mine := fiber.Self() == caller
				if mine && x.exitLate || !mine && x.failLate {
					time.Sleep(5 * time.Millisecond)
				}
				if !mine || x.nodes == 1 {
					defer func() { panic(errDAGNode) }()
				}
				if mine {
					runtime.Goexit()
				}
			})
		}
		d, err := b.Build()
		require.NoError(t, err)
		failure := make(chan any, 1)
		go func() {
			defer func() { failure <- recover() }()
			caller = fiber.Self()
			d.Run(0)
		}()
		err, _ = (<-failure).(error)
		assert.ErrorIs(t, err, errDAGNode, name)
	}
}

func TestDAGBuildRefuses(t *testing.T) {
	nop := func(int) {}
	for name, x := range map[string]struct {
		declare func(b *fibersync.DAGBuilder[int])
		want    error
		names   []string
	}{
		"nothing": {func(*fibersync.DAGBuilder[int]) {}, fibersync.ErrNoNodes, nil},
		"no function": {
			func(b *fibersync.DAGBuilder[int]) { b.Node(nop); b.Node(nil) }, fibersync.ErrNilFunc,
			[]string{"node 1"},
		},
		"unknown": {
			func(b *fibersync.DAGBuilder[int]) { b.Node(nop, 0, 7) }, fibersync.ErrUnknownNode,
			[]string{"node 0", "node 7"},
		},
		"negative": {
			func(b *fibersync.DAGBuilder[int]) { b.Node(nop, -1) }, fibersync.ErrUnknownNode,
			[]string{"node 0", "node -1"},
		},
		"itself": {
			func(b *fibersync.DAGBuilder[int]) { b.Node(nop); b.Node(nop, 1) }, fibersync.ErrCycle,
			[]string{"node 1", "TestDAGBuildRefuses"},
		},
		"a small cycle": {
			func(b *fibersync.DAGBuilder[int]) { b.Node(nop, 1); b.Node(nop, 0) }, fibersync.ErrCycle,
			[]string{"node 0", "node 1"},
		},
		"a cycle between others": {func(b *fibersync.DAGBuilder[int]) {
			b.After(b.Node(nop, b.Node(nop)), 3)     // 1 after 0 and 3
			b.Node(nop, b.Node(nop, b.Node(nop, 1))) // 2 after 1, 3 after 2, 4 after 3
		}, fibersync.ErrCycle, []string{"node 1", "node 2", "node 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			var b fibersync.DAGBuilder[int]
			x.declare(&b)
			d, err := b.Build()
			assert.Nil(t, d)
			require.ErrorIs(t, err, x.want)
			for _, one := range x.names {
				assert.ErrorContains(t, err, one)
			}
			if errors.Is(err, fibersync.ErrCycle) {
				assert.NotContains(t, err.Error(), "node 4", "it lies on no cycle")
			}
		})
	}
	var b fibersync.DAGBuilder[int]
	check.PanicsWith(t, fibersync.ErrUnknownNode, func() { b.After(0, 0) })
}
