package forkjoin_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/forkjoin"
	"fiberlab/tests/internal/forktest"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// What a goroutine forks that is no task is handed out at once, or it runs as a task: so it may wait for what it forks.
func TestJoinFromOutsideMayWaitForItsFork(t *testing.T) {
	over := suite.Over{Workers: []int{1, 2}}
	forktest.EachConfig(t, over, func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
		forktest.OnPool(t, cfg, forkjoin.Config{Form: form}, func(t *testing.T, _ *sched.Scheduler, p *forkjoin.Pool) {
			outside(func() {
				var begun fibersync.Event
				forkjoin.Join(
					p, func(*forkjoin.Pool) int { begun.Wait(); return 0 },
					func(*forkjoin.Pool) int { begun.Signal(); return 0 },
				)
			})
			outside(func() {
				begun := make(chan struct{}) // no wait of the pool's own
				forkjoin.Join(
					p, func(*forkjoin.Pool) int { <-begun; return 0 },
					func(*forkjoin.Pool) int { close(begun); return 0 },
				)
			})
			outside(func() {
				var begun fibersync.Event
				assert.Equal(t, 3, forkjoin.NewFunc(func(s *forkjoin.Strand[int, int], n int) int {
					if n == 1 {
						begun.Signal()
						return 1
					}
					one := s.Fork(1)
					begun.Wait()
					return 2 + s.Join(one)
				}).Call(p, 0))
			})
		})
	})
}

// Scheduling groups need not steal from one another. What a busy worker of one group forks is begun by a worker of
// another that has nothing to do.
func TestGroupsShareAPool(t *testing.T) {
	for _, form := range forkjoin.Forms() {
		t.Run(form.String(), func(t *testing.T) {
			cfg := sched.Config{
				Workers: 3, Policy: sched.Group,
				Groups: sched.Groups{Size: 1, StealEvery: func(int, int) int { return 0 }},
			}
			forktest.OnPool(
				t, cfg, forkjoin.Config{Form: form},
				func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
					for group := range s.Groups() {
						ended := schedtest.NewLatch(1)
						require.NoError(t, s.EnqueueInGroup(group, sched.Task{Func: func() {
							defer ended.Done()
							taken := make(chan int, 1) // a send must not block a worker
							forkjoin.Join(p, func(p *forkjoin.Pool) int {
								for { // it computes, and holds its worker
									select {
									case by := <-taken:
										assert.NotEqual(t, group, by)
										return 0
									default:
										// A join where a beat is seen. In the other forms a worker elsewhere might be at
										// it, and to wait for that would let this worker go.
										if form == forkjoin.Heartbeat {
											forkjoin.Join(p, nothing, nothing)
										}
									}
								}
							}, func(*forkjoin.Pool) int { taken <- sched.Current().Worker().Group(); return 0 })
						}}))
						ended.Wait()
					}
				},
			)
		})
	}
}

func nothing(*forkjoin.Pool) int { return 0 }

// A scheduler that is being closed begins what futures need.
func TestClosingSchedulerServesFutures(t *testing.T) {
	forktest.EachConfig(t, suite.Over{Workers: []int{1, 2}}, func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
		s, err := sched.New(cfg)
		require.NoError(t, err)
		p, err := forkjoin.New(s, forkjoin.Config{Form: form})
		require.NoError(t, err)
		release := holdWorkers(t, s)
		f := forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { return 7, nil })
		closed := make(chan error)
		go func() { closed <- s.CloseContext(t.Context()) }()
		for s.Go(func() {}) == nil { // until it is being closed
			runtime.Gosched()
		}
		release()
		<-f.Done()
		v, err := f.Get()
		assert.NoError(t, err)
		assert.Equal(t, 7, v)
		assert.NoError(t, p.Close())
		assert.NoError(t, <-closed)
	})
}
