// Package uringtest is for tests: it has engines of each driver, and callers of both kinds.
package uringtest

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/uring"
)

// NoRing demands that the kernel has no io_uring, and that the error says why.
func NoRing(t *testing.T, err error) {
	t.Helper()
	require.ErrorIs(t, err, uring.ErrUnavailable)
	require.Regexp(t, `no io_uring: .+: .+`, err.Error())
	t.Log(err)
}

// EachCaller runs test with engines of each driver; run calls functions concurrently, on goroutines or on fibers, and
// waits for them.
func EachCaller(
	t *testing.T, options uring.Options, test func(t *testing.T, engines *uring.Engines, run func(...func())),
) {
	for _, driver := range uring.Drivers() {
		options.Driver = driver
		t.Run(driver.String()+"/goroutines", func(t *testing.T) {
			engines := uring.New(options)
			if _, err := engines.Here(); driver == uring.Uring && err != nil {
				NoRing(t, err)
				return
			}
			test(t, engines, func(fs ...func()) {
				var all sync.WaitGroup
				for _, f := range fs {
					all.Add(1)
					go func() {
						defer all.Done()
						f()
					}()
				}
				all.Wait()
			})
			require.NoError(t, engines.Close())
		})
		t.Run(driver.String()+"/fibers", func(t *testing.T) {
			engines := uring.New(options)
			cfg := sched.Config{Workers: 2}
			engines.Attach(&cfg)
			s, err := sched.New(cfg)
			if driver == uring.Uring && err != nil {
				NoRing(t, err)
				return
			}
			require.NoError(t, err)
			test(t, engines, func(fs ...func()) {
				var all sync.WaitGroup
				for _, f := range fs {
					all.Add(1)
					require.NoError(t, s.Go(func() {
						defer all.Done()
						f()
					}))
				}
				all.Wait()
			})
			require.NoError(t, s.Close())
			require.NoError(t, engines.Close())
		})
	}
}
