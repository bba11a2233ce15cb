package fibersync_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/suite"
)

// futures makes promises, and lists their futures.
func futures(n int) ([]fibersync.Promise[int], []*fibersync.Future[int]) {
	promises, list := make([]fibersync.Promise[int], n), make([]*fibersync.Future[int], n)
	for i := range promises {
		list[i] = promises[i].Future()
	}
	return promises, list
}

func TestWhenAllKeepsTheOrder(t *testing.T) {
	eachCompany(t, func(c *company) {
		const n = 12
		random := suite.NewRand(c.t)
		promises, list := futures(n)
		promises[3].Set(3)
		all := fibersync.WhenAll(list...)
		clear(list) // the call keeps its own
		for _, i := range random.Perm(n) {
			if i != 3 {
				c.start(func() {
					assert.False(c.t, all.Ready())
					promises[i].Set(i)
				})
			}
		}
		values, err := all.Get()
		assert.NoError(c.t, err)
		assert.Equal(c.t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, values)
	})
}

// It waits for all, even if some have failed, and has all their results.
func TestWhenAllJoinsErrors(t *testing.T) {
	eachCompany(t, func(c *company) {
		errOther := errors.New("nor such")
		promises, list := futures(4)
		all := fibersync.WhenAll(list...)
		promises[3].Fail(errOther)
		promises[1].Fail(errFuture)
		promises[0].Set(10)
		assert.False(c.t, all.Ready())
		c.start(func() { promises[2].Set(12) })
		values, err := all.Get()
		assert.Equal(c.t, []int{10, 0, 12, 0}, values)
		assert.EqualError(c.t, err, "no such thing\nnor such")
		assert.ErrorIs(c.t, err, errFuture)
		assert.ErrorIs(c.t, err, errOther)
	})
}

func TestWhenAllOfNone(t *testing.T) {
	values, err := fibersync.WhenAll[int]().Get()
	assert.NoError(t, err)
	assert.Empty(t, values)
}

func TestWhenAnyTakesTheFirst(t *testing.T) {
	eachCompany(t, func(c *company) {
		const n = 6
		for range suite.Scaled(10, 3) {
			promises, list := futures(n)
			any := fibersync.WhenAny(list...)
			assert.False(c.t, any.Ready())
			for i := range promises {
				c.start(func() {
					promises[i].Set(i * i)
					assert.True(c.t, any.Ready())
				})
			}
			first, err := any.Get()
			assert.NoError(c.t, err)
			assert.Equal(c.t, first.Index*first.Index, first.Value)
			c.wait()
		}
		promises, list := futures(n)
		any := fibersync.WhenAny(list...)
		promises[4].Fail(errFuture)
		promises[2].Set(1)
		first, err := any.Get()
		assert.ErrorIs(c.t, err, errFuture, "the first to be settled counts, even if it fails")
		assert.Equal(c.t, 4, first.Index)
	})
}

func TestWhenAnyOfSettledOnes(t *testing.T) {
	promises, list := futures(3)
	promises[2].Set(2)
	promises[1].Set(1)
	first, err := fibersync.WhenAny(list...).Get()
	assert.NoError(t, err)
	assert.Equal(t, fibersync.First[int]{Index: 1, Value: 1}, first)

	_, err = fibersync.WhenAny[int]().Get()
	assert.ErrorIs(t, err, fibersync.ErrNoFutures)
}
