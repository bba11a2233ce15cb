package fibersync_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/park"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/leaks"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// The functions of Async and Then run where the caller runs.
func TestAsyncRunsBesideTheCaller(t *testing.T) {
	eachCompany(t, func(c *company) {
		for range 4 {
			c.start(func() {
				mine := sched.Get()
				answer := fibersync.Async(func() (int, error) {
					assert.Same(c.t, mine, sched.Get())
					pause()
					return 6, nil
				})
				twice := fibersync.Then(answer, func(v int, err error) (string, error) {
					assert.NoError(c.t, err)
					assert.Same(c.t, mine, sched.Get())
					return string(rune('0' + v)), errFuture
				})
				caught := fibersync.Then(twice, func(v string, err error) (string, error) {
					assert.ErrorIs(c.t, err, errFuture)
					return v + "!", nil
				})
				text, err := caught.Get()
				assert.NoError(c.t, err)
				assert.Equal(c.t, "6!", text)
				_, err = twice.Get()
				assert.ErrorIs(c.t, err, errFuture)
				late := fibersync.Then(answer, func(v int, _ error) (int, error) { return v + 1, nil })
				v, err := late.Get()
				assert.NoError(c.t, err)
				assert.Equal(c.t, 7, v)
			})
		}
	})
}

// The function of Then may block, even for something that its starter does next.
func TestThenMayBlock(t *testing.T) {
	eachCompany(t, func(c *company) {
		c.start(func() {
			var first, second fibersync.Promise[int]
			sum := fibersync.Then(first.Future(), func(v int, _ error) (int, error) {
				w, err := second.Future().Get()
				return v + w, err
			})
			first.Set(1)
			second.Set(2)
			v, err := sum.Get()
			assert.NoError(c.t, err)
			assert.Equal(c.t, 3, v)
		})
	})
}

// A panic belongs to the task, and its waiters return.
func TestAsyncPanicsAsATask(t *testing.T) {
	suite.EachConfig(t, mixedWorkers(), func(t *testing.T, cfg sched.Config) {
		var values schedtest.Journal[any]
		cfg.Panicked = func(value any, _ []byte) { values.Add(value) }
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			schedtest.Perform(t, s, func() {
				f := fibersync.Async(func() (int, error) { panic("on purpose") })
				_, err := f.Get()
				assert.ErrorIs(t, err, fibersync.ErrUnfinished)
			})
		})
		assert.Equal(t, []any{"on purpose"}, values.All())
	})
}

func TestAsyncGoexitOnAGoroutine(t *testing.T) {
	leaks.Check(t)
	f := fibersync.Async(func() (int, error) {
		runtime.Goexit()
		return 1, nil
	})
	_, err := f.Get()
	require.ErrorIs(t, err, fibersync.ErrUnfinished)
}

// helpless is a client whose scheduler starts nothing.
type helpless struct{ park.Parker }

var errHelpless = errors.New("no scheduler here")

func (helpless) Start(func()) error    { return errHelpless }
func (helpless) StartNow(func()) error { return errHelpless }

// asHelpless calls f as a client whose scheduler starts nothing.
func asHelpless(t *testing.T, f func()) {
	fibertest.EachRoot(t, func(_ *testing.T, root *fiber.Fiber) {
		root.SetValue(helpless{park.NewGoroutine()})
		f()
		root.SetValue(nil)
	})
}

// If nothing can be started, the future says so, and which call has failed.
func TestAsyncWithoutAScheduler(t *testing.T) {
	asHelpless(t, func() {
		f := fibersync.Async(func() (int, error) { return 1, nil })
		_, err := f.Get()
		assert.ErrorIs(t, err, errHelpless)
		assert.ErrorContains(t, err, "fibersync: async: ")
		_, err = fibersync.Then(f, func(int, error) (int, error) { return 1, nil }).Get()
		assert.ErrorIs(t, err, errHelpless)
		assert.ErrorContains(t, err, "fibersync: then: ")
	})
}
