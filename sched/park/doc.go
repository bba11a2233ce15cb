// Package park is the seam between what blocks and what schedules: two calls, Park and
// Unpark, and who answers them.
//
// A lock, a channel or a latch must be able to say "this one waits" and "that one
// goes on" without knowing who it is. Here a [Party] is whoever can wait: a fiber,
// whose scheduler runs other fibers meanwhile, or a plain goroutine, which the Go
// runtime takes care of. Every policy has its own fibers, and they implement Party; the
// primitives in fiberlab/sched/fibersync know nothing else of either side, which is why
// fibers of any policy and goroutines may wait for one another.
package park
