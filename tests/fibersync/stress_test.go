package fibersync_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/tests/internal/campus"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// Fibers and goroutines use all primitives for a while, each as it likes.
func TestStress(t *testing.T) {
	suite.EachConfig(t, []int{4}, func(t *testing.T, cfg sched.Config) {
		rng := suite.NewRand(t)
		cfg.MaxIdle, cfg.GiveUpAfter = 200, -1
		s, err := sched.New(cfg)
		require.NoError(t, err)
		x := campus.New(t, s)
		schedtest.Watch(t, schedtest.Watched{Scheduler: s, Progress: &x.Progress, State: x.String}, func() {
			x.Open(suite.Scaled(1000, 150), suite.Scaled(100, 20), rng)
			time.Sleep(suite.StressTime(t, 3*time.Second, time.Second))
			for !x.Visited() { // a busy machine may need longer; if nothing goes on, the watchdog ends the program
				time.Sleep(time.Millisecond)
			}
			x.Close()
		})
		assert.NoError(t, s.Close())
		t.Logf("%d visits\n%v", x.Progress.Load(), x)
	})
}
