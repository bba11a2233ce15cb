// Package park is the seam between what blocks and what schedules: two calls, Park and
// Unpark, and the interface that answers them.
//
// A lock, a channel or a latch blocks its callers and wakes them. It does so through a
// [Parker], and so it need not know what the caller is. While a fiber is blocked, its scheduler
// runs other fibers; the Go runtime takes care of a plain goroutine. The fibers of every
// scheduling policy implement [Scheduled]. The primitives in fiberlab/sched/fibersync know
// nothing else of either side; therefore fibers of any scheduler and goroutines may wait for
// one another.
//
// This package is for those who write schedulers and primitives. A program that only uses
// them calls package sched and package fibersync.
package park
