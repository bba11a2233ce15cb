package fibersync_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/suite"
)

// Some consumers give up at any time, and put back the values that they got. The values are just enough for the other
// consumers. If a signal is lost, one of these never returns.
func TestCondStormOfCancelsAndSignals(t *testing.T) {
	eachCompany(t, func(c *company) {
		for range suite.Scaled(50, 10) {
			cond, values := fibersync.NewCond(&sync.Mutex{}), 0
			put := func() {
				locked(cond.L, func() { values++ })
				cond.Signal()
			}
			ctx, cancel := context.WithCancel(context.Background())
			for i := range 8 {
				if i%4 == 0 {
					c.start(func() {
						locked(cond.L, func() {
							cond.Await(func() bool { return values > 0 })
							values--
						})
					})
					c.start(put)
					continue
				}
				c.start(func() {
					var err error
					locked(cond.L, func() {
						for values == 0 && err == nil {
							err = cond.WaitContext(ctx)
						}
						if err == nil {
							values--
						}
					})
					if err == nil {
						put()
					}
				})
			}
			c.start(cancel)
			c.wait()
			assert.Zero(c.t, values)
		}
	})
}
