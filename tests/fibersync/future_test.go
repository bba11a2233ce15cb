package fibersync_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/suite"
)

var errFuture = errors.New("no such thing")

func TestFutureGivesAllTheSame(t *testing.T) {
	eachCompany(t, func(c *company) {
		var good fibersync.Promise[int]
		var bad fibersync.Promise[int]
		for range 10 {
			c.start(func() {
				v, err := good.Future().Get()
				assert.NoError(c.t, err)
				assert.Equal(c.t, 42, v)
				v, err = bad.Future().Get()
				assert.ErrorIs(c.t, err, errFuture)
				assert.Zero(c.t, v)
			})
		}
		assert.False(c.t, good.Future().Ready())
		c.start(func() {
			pause()
			good.Set(42)
		})
		c.start(func() { bad.Fail(errFuture) })
		c.wait()
		for _, f := range []*fibersync.Future[int]{good.Future(), bad.Future()} {
			assert.True(c.t, f.Ready())
			v, err := f.Get()
			again, errAgain := f.GetContext(context.Background())
			assert.Equal(c.t, v, again)
			assert.Equal(c.t, err, errAgain)
		}
	})
}

// If several clients settle a promise at once, one succeeds.
func TestFutureIsSettledOnce(t *testing.T) {
	eachCompany(t, func(c *company) {
		for range suite.Scaled(20, 5) {
			var p fibersync.Promise[int]
			var set, failed atomic.Int64
			for i := range 8 {
				c.start(func() {
					switch {
					case i%2 == 0 && p.TrySet(i+1):
						set.Add(int64(i + 1))
					case i%2 == 1 && p.TryFail(errFuture):
						failed.Add(1)
					}
				})
			}
			v, err := p.Future().Get()
			c.wait()
			assert.EqualValues(c.t, v, set.Load())
			assert.Equal(c.t, err != nil, failed.Load() == 1)
			assert.NotEqual(c.t, v == 0, err == nil)
		}
	})
}

func TestFutureMisuse(t *testing.T) {
	var p fibersync.Promise[int]
	check.PanicsWith(t, fibersync.ErrNoError, func() { p.Fail(nil) })
	check.PanicsWith(t, fibersync.ErrNoError, func() { p.TryFail(nil) })
	p.Set(1)
	check.PanicsWith(t, fibersync.ErrSettled, func() { p.Set(2) })
	check.PanicsWith(t, fibersync.ErrSettled, func() { p.Fail(errFuture) })
	assert.False(t, p.TrySet(2))
	assert.False(t, p.TryFail(errFuture))
	v, err := p.Future().Get()
	assert.NoError(t, err)
	assert.Equal(t, 1, v)
	check.PanicsWith(t, fibersync.ErrNilFunc, func() { fibersync.Async[int](nil) })
	check.PanicsWith(t, fibersync.ErrNilFunc, func() { fibersync.Then[int, int](p.Future(), nil) })
}
