package tests

import (
	"testing"

	"fiberlab/sched"
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
	onSchedulers(b, []int{0, 1, 2}, func(b *testing.B, s *sched.Scheduler) {
		inBatches(b, func(n int) {
			c := newCountdown(n)
			task := c.done
			for range n {
				enqueue(b, s, task)
			}
			c.wait()
		})
	})
	b.Run("goroutines", func(b *testing.B) {
		inBatches(b, func(n int) {
			c := newCountdown(n)
			task := c.done
			for range n {
				go task()
			}
			c.wait()
		})
	})
}

// BenchmarkNestedTasks is BenchmarkEmptyTasks with one task that queues all others.
func BenchmarkNestedTasks(b *testing.B) {
	onSchedulers(b, []int{1, 2}, func(b *testing.B, s *sched.Scheduler) {
		inBatches(b, func(n int) {
			c := newCountdown(n)
			task := c.done
			enqueue(b, s, func() {
				for range n {
					if err := sched.Schedule(task); err != nil {
						b.Error(err)
					}
				}
			})
			c.wait()
		})
	})
	b.Run("goroutines", func(b *testing.B) {
		inBatches(b, func(n int) {
			c := newCountdown(n)
			task := c.done
			go func() {
				for range n {
					go task()
				}
			}()
			c.wait()
		})
	})
}
