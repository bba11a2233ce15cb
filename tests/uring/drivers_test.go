package uring_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/uring"
)

// eachDriver runs test with each driver that the kernel has. A kernel without io_uring must say why. Then that part is
// skipped, and the test runs on epoll alone.
func eachDriver(t *testing.T, test func(t *testing.T, driver uring.Driver)) {
	for _, driver := range uring.Drivers() {
		t.Run(driver.String(), func(t *testing.T) {
			if report := uring.Probe(); driver == uring.Uring && report.Reason != nil {
				require.ErrorIs(t, report.Reason, uring.ErrUnavailable)
				require.Regexp(t, `no io_uring: .+: .+`, report.Reason.Error())
				t.Skip(report.Reason)
			}
			t.Log("runs on driver", driver)
			test(t, driver)
		})
	}
}

// attach returns engines, and a scheduler whose workers have them. The caller closes both.
func attach(t require.TestingT, options uring.Options, cfg sched.Config) (*uring.Engines, *sched.Scheduler) {
	engines := uring.New(options)
	engines.Attach(&cfg)
	s, err := sched.New(cfg)
	require.NoError(t, err)
	return engines, s
}

// A driver that there is not is named, with the drivers that there are.
func TestNoSuchDriver(t *testing.T) {
	_, err := uring.ParseDriver("aio")
	require.ErrorIs(t, err, uring.ErrDriver)
	require.ErrorContains(t, err, `"aio": choose one of auto, uring, epoll`)

	cfg := sched.Config{Workers: 1}
	engines := uring.New(uring.Options{Driver: 7})
	engines.Attach(&cfg)
	_, err = sched.New(cfg)
	require.ErrorIs(t, err, uring.ErrDriver)
	_, err = engines.Here()
	require.ErrorIs(t, err, uring.ErrDriver)
	require.NoError(t, engines.Close())

	_, err = engines.Here()
	require.ErrorIs(t, err, uring.ErrClosed)
	require.ErrorContains(t, err, "make others")
}
