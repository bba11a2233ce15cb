package sched_test

import (
	"testing"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
)

// mostTasks is how many empty tasks are queued before they are waited for.
const mostTasks = 1_000_000

// inBatches calls run with batches of mostTasks, the last one with what is left of b.N.
func inBatches(b *testing.B, run func(n int)) {
	b.ResetTimer()
	for left := b.N; left > 0; left -= mostTasks {
		run(min(left, mostTasks))
	}
	b.StopTimer()
}

// BenchmarkEmptyTasks queues tasks from outside of the scheduler, a million before they are waited for,
// that do nothing but count themselves. An op is a task. With 0 workers the goroutine that queues them is
// bound, and runs them when it waits. The rival starts as many goroutines.
func BenchmarkEmptyTasks(b *testing.B) {
	schedtest.BenchOn(b, []int{0, 1, 2}, func(b *testing.B, s *sched.Scheduler) {
		inBatches(b, func(n int) {
			c := schedtest.NewCountdown(n)
			task := c.Done
			for range n {
				schedtest.Enqueue(b, s, task)
			}
			c.Wait()
		})
	})
	b.Run(schedtest.Goroutines, func(b *testing.B) {
		inBatches(b, func(n int) {
			c := schedtest.NewCountdown(n)
			task := c.Done
			for range n {
				go task()
			}
			c.Wait()
		})
	})
}

// BenchmarkEnqueueOn is BenchmarkEmptyTasks with tasks for one given worker: each is a message in the worker's mailbox.
func BenchmarkEnqueueOn(b *testing.B) {
	schedtest.BenchOn(b, []int{1}, func(b *testing.B, s *sched.Scheduler) {
		inBatches(b, func(n int) {
			c := schedtest.NewCountdown(n)
			t := sched.Task{Func: c.Done}
			for range n {
				if err := s.EnqueueOn(0, t); err != nil {
					b.Fatal(err)
				}
			}
			c.Wait()
		})
	})
}

// BenchmarkNestedTasks is BenchmarkEmptyTasks with one task that queues all others.
func BenchmarkNestedTasks(b *testing.B) {
	schedtest.BenchOn(b, []int{1, 2}, func(b *testing.B, s *sched.Scheduler) {
		inBatches(b, func(n int) {
			c := schedtest.NewCountdown(n)
			task := c.Done
			schedtest.Enqueue(b, s, func() {
				for range n {
					if err := sched.Schedule(task); err != nil {
						b.Error(err)
					}
				}
			})
			c.Wait()
		})
	})
	b.Run(schedtest.Goroutines, func(b *testing.B) {
		inBatches(b, func(n int) {
			c := schedtest.NewCountdown(n)
			task := c.Done
			go func() {
				for range n {
					go task()
				}
			}()
			c.Wait()
		})
	})
}

// BenchmarkFullQueue is BenchmarkEmptyTasks and BenchmarkNestedTasks with room for a thousand tasks: the caller waits
// for room again and again.
func BenchmarkFullQueue(b *testing.B) {
	schedtest.BenchOn(b, []int{1, 2}, func(b *testing.B, s *sched.Scheduler) {
		fill := func(n int, task func()) {
			for range n {
				schedtest.Enqueue(b, s, task)
			}
		}
		b.Run("outside", func(b *testing.B) {
			inBatches(b, func(n int) {
				c := schedtest.NewCountdown(n)
				fill(n, c.Done)
				c.Wait()
			})
		})
		b.Run("inside", func(b *testing.B) {
			inBatches(b, func(n int) {
				c := schedtest.NewCountdown(n)
				schedtest.Enqueue(b, s, func() { fill(n, c.Done) })
				c.Wait()
			})
		})
	}, func(cfg *sched.Config) { cfg.MaxQueued = 1000 })
}
