package ctask_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
	"fiberlab/tests/internal/taskbody"
)

// What a call from C to the scheduler costs: with a switch of fibers, and without.
func BenchmarkCTaskCall(b *testing.B) {
	for _, cfg := range (suite.Over{Backends: suite.HandSwitched, Workers: []int{1}}).All() {
		calls := func(name string, fibers int, call func(n int)) {
			b.Run(schedtest.BenchName(cfg)+"/"+name, func(b *testing.B) {
				asCTask(b, cfg, func() {
					for range fibers - 1 {
						assert.NoError(b, sched.Schedule(func() { call(b.N / fibers) }))
					}
					call(b.N / fibers)
				})
			})
		}
		calls("current", 1, taskbody.Currents)
		calls("yield", 2, taskbody.Yields)
	}
}
