package main

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
)

// onTasks runs the tasks on a scheduler until all have ended.
func onTasks(t *testing.T, b fiber.Backend, workers int, tasks ...func()) {
	t.Helper()
	s, err := sched.New(sched.Config{Workers: workers, Backend: b})
	require.NoError(t, err)
	for _, f := range tasks {
		require.NoError(t, s.Enqueue(sched.Task{Func: f}))
	}
	require.NoError(t, s.Close())
	requireReleased(t)
}

// Many tasks at both ends: each item arrives once, and those of one putter in order.
func TestQueueDeliversAll(t *testing.T) {
	const putters, takers, each = 8, 5, 300
	for _, b := range fiber.Backends() {
		for _, workers := range []int{1, 4} {
			t.Run(fmt.Sprintf("%v/workers=%d", b, workers), func(t *testing.T) {
				q := newQueue[[2]int](3)
				var tasks []func()
				var putting, sum, late atomic.Int64
				putting.Store(putters)
				for p := range putters {
					tasks = append(tasks, func() {
						for i := range each {
							q.put([2]int{p, i})
						}
						if putting.Add(-1) == 0 {
							q.end(false)
						}
					})
				}
				var disorder atomic.Bool
				for k := range takers {
					tasks = append(tasks, func() {
						last := [putters]int{}
						for {
							patience := forEver
							if k%2 == 1 {
								patience = linger / 50
							}
							item, came := q.take(patience)
							switch came {
							case gotEnd:
								return
							case gotNothing:
								late.Add(1)
								continue
							}
							if item[1] < last[item[0]] {
								disorder.Store(true)
							}
							last[item[0]] = item[1]
							sum.Add(int64(item[1]) + 1)
						}
					})
				}
				onTasks(t, b, workers, tasks...)
				require.Equal(t, int64(putters*each*(each+1)/2), sum.Load())
				require.False(t, disorder.Load())
				require.Empty(t, q.putters)
				require.Empty(t, q.takers)
			})
		}
	}
}

func TestQueueEnds(t *testing.T) {
	for _, discard := range []bool{false, true} {
		q := newQueue[int](1)
		var got []taken
		var put []bool
		onTasks(t, fiber.Asm, 1,
			func() { put = append(put, q.put(7), q.put(8)) },
			func() { q.end(discard) },
			func() {
				for range 2 {
					_, came := q.take(forEver)
					got = append(got, came)
				}
			})
		require.Equal(t, []bool{true, false}, put, "the second one is blocked until the end")
		if discard {
			require.Equal(t, []taken{gotEnd, gotEnd}, got)
		} else {
			require.Equal(t, []taken{gotItem, gotEnd}, got)
		}
	}
}

func TestQueueTakesWithADeadline(t *testing.T) {
	q := newQueue[int](1)
	var came taken
	onTasks(t, fiber.Asm, 1, func() { _, came = q.take(linger) })
	require.Equal(t, gotNothing, came)
}
