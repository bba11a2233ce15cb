package sched_test

import (
	"slices"

	"fiberlab/sched"
)

// legal is the picture of the states in docs/scheduler.md: for each transition, its causes.
var legal = map[[2]sched.State][]sched.Why{
	{sched.Idle, sched.Running}:    {sched.WhyCarryOn},
	{sched.Running, sched.Idle}:    {sched.WhyGoIdle, sched.WhyEnd},
	{sched.Running, sched.Yielded}: {sched.WhyWait},
	{sched.Running, sched.Waiting}: {sched.WhyWait},
	{sched.Running, sched.Queued}:  {sched.WhyYield},
	{sched.Yielded, sched.Queued}:  {sched.WhyNotify},
	{sched.Waiting, sched.Queued}:  {sched.WhyNotify, sched.WhyTimeout},
	{sched.Queued, sched.Running}:  {sched.WhyResume},
}

// isLegal reports whether a fiber may go from one state to another because of why.
func isLegal(from, to sched.State, why sched.Why) bool {
	return slices.Contains(legal[[2]sched.State{from, to}], why)
}
