package sched

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// anyOrder is roundRobin without an order: next takes any entry of the queue.
type anyOrder struct {
	*roundRobin
	random *rand.Rand // used with the lock of the queue held
}

func (p anyOrder) next(w *Worker) (runnable, bool) {
	p.mu.Lock()
	for n := p.queue.Len(); n > 1 && p.random.IntN(n) > 0; n-- {
		p.queue.Push(p.queue.Pop())
	}
	p.mu.Unlock()
	return p.roundRobin.next(w)
}

// Order is not part of what a policy promises: with a policy that takes entries at random, each task runs once, waits
// end by what they wait for, and Close returns.
func TestPolicyNeedsNoOrder(t *testing.T) {
	const trees, depth = 20, 6
	cfg, err := Config{Workers: 2, Policy: RoundRobin}.checked()
	require.NoError(t, err)
	require.NoError(t, takeWorkers(cfg.Workers))
	s := newScheduler(cfg)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	p := anyOrder{s.policy.(*roundRobin), rand.New(rand.NewPCG(seed, 0))}
	s.policy, s.migration = p, p
	require.NoError(t, s.start())
	var ran atomic.Int64
	var task func(depth int) func()
	task = func(depth int) func() {
		return func() {
			ran.Add(1)
			if depth == 0 {
				return
			}
			Yield()
			var over atomic.Int32
			f := Current()
			for range 2 {
				child := task(depth - 1)
				if err := s.Enqueue(Task{Func: func() {
					child()
					over.Add(1)
					f.Notify()
				}}); err != nil {
					panic(err)
				}
			}
			for over.Load() < 2 {
				f.WaitFor(nil, time.Millisecond, nil)
			}
		}
	}
	for range trees {
		require.NoError(t, s.Enqueue(Task{Func: task(depth)}))
	}
	require.NoError(t, s.Close())
	require.EqualValues(t, trees*(1<<(depth+1)-1), ran.Load())
}
