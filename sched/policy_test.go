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
	random *rand.Rand // used with the locks of the queue held
}

func (p anyOrder) next(w *Worker) (runnable, bool) {
	p.queue.popping.Lock()
	p.queue.pushing.Lock()
	for n := p.queue.waiting(); n > 1 && p.random.IntN(n) > 0; n-- {
		p.queue.back.Push(p.queue.front.Pop(), &p.queue.front)
	}
	p.queue.pushing.Unlock()
	p.queue.popping.Unlock()
	return p.roundRobin.next(w)
}

// A policy promises no order. With a policy that takes entries at random, each task runs once, waits end by what they
// wait for, and Close returns.
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

// A task that comes between the survey of Close and the closing of the queues is found, and the queues are open again.
func TestQueuesCloseUnlessATaskWasQuicker(t *testing.T) {
	for _, policy := range Policies() {
		w, _ := planted(t, policy)
		s := w.scheduler
		for _, w := range s.workers {
			w.fallAsleep()
		}
		v := s.survey()
		require.True(t, v.over(), policy)
		require.True(t, s.closeQueues(v), policy)
		require.False(t, s.policy.submit(someTask, nil), policy)
		s.policy.setClosed(false)
		require.True(t, s.policy.submit(someTask, nil), policy)
		require.False(t, s.closeQueues(v), policy)
		require.True(t, s.policy.submit(someTask, nil), policy)
	}
}
