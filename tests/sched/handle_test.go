package sched_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// Each task is run once, by a worker or by one of two callers that claim it meanwhile; or not at all, if a caller has
// only claimed it.
func TestHandleIsClaimedOnce(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		n := suite.Scaled(400, 40)
		runs, claims := make([]atomic.Int32, n), make([]atomic.Int32, n)
		random := suite.NewRand(t)
		var rivals []func()
		over, claimed := schedtest.NewLatch(2), schedtest.NewLatch(n)
		schedtest.Schedule(t, s, func() {
			handles := make([]*sched.Handle, n)
			for i := range handles {
				h, err := s.EnqueueHandle(sched.Task{Func: func() { runs[i].Add(1); claimed.Done() }})
				if !assert.NoError(t, err) {
					return
				}
				handles[i] = h
			}
			for range 2 {
				order := random.Perm(n)
				rivals = append(rivals, func() {
					defer over.Done()
					for k, i := range order {
						switch k % 4 {
						case 0:
							handles[i].Run()
						case 1:
							if handles[i].Claim() {
								claims[i].Add(1)
								claimed.Done()
							}
						case 2:
							sched.Yield()
						}
					}
				})
			}
			for _, r := range rivals {
				schedtest.Schedule(t, s, r)
			}
		})
		over.Wait()
		claimed.Wait()
		for i := range n {
			assert.EqualValues(t, 1, runs[i].Load()+claims[i].Load(), "task %d", i)
		}
	})
}

func TestHandleRefuses(t *testing.T) {
	s, err := sched.New(sched.Config{Workers: 1})
	require.NoError(t, err)
	h, err := s.EnqueueHandle(sched.Task{})
	require.ErrorIs(t, err, sched.ErrNilTask)
	require.Nil(t, h)
	require.NoError(t, s.Close())
	h, err = s.EnqueueHandle(sched.Task{Func: func() {}})
	require.ErrorIs(t, err, sched.ErrClosed)
	require.Nil(t, h)
}
