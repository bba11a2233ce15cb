package sched_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/crash"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

var (
	childTaskPanics      = crash.NewTask("task panics", crash.Panic)
	childTaskPanicsLater = crash.NewTask("task panics after a wait", func() {
		sched.Sleep(1)
		crash.Panic()
	})
	childTaskGoexits = crash.NewTask("task calls Goexit", runtime.Goexit)
	childTaskFails   = crash.NewTask("task calls FailNow", new(testing.T).FailNow)
)

var childHandlerGoexits = child.New("a handler of panics calls Goexit", func(t child.T, b fiber.Backend) {
	cfg := child.Config(t, b)
	cfg.Panicked = func(any, []byte) { runtime.Goexit() }
	s, err := sched.New(cfg)
	require.NoError(t, err)
	require.NoError(t, s.Go(crash.Panic))
	require.NoError(t, s.Close())
})

// A panic of a task ends the program, and shows the frames that panicked.
func TestTaskPanics(t *testing.T) {
	crash.EachTask(t, []string{childTaskPanics, childTaskPanicsLater}, func(t *testing.T, out string) {
		crash.RequirePanic(t, out)
	})
}

// A task that calls Goexit is told what to do instead.
func TestTaskCallsGoexit(t *testing.T) {
	crash.EachTask(t, []string{childTaskGoexits, childTaskFails}, func(t *testing.T, out string) {
		require.Contains(t, out, sched.ErrGoexit.Error())
		require.Contains(t, out, "runtime.Goexit")
	})
}

// A handler that calls Goexit, as FailNow does, is named.
func TestHandlerCallsGoexit(t *testing.T) {
	for _, b := range fiber.Backends() {
		t.Run(b.String(), func(t *testing.T) {
			out := child.RunCrash(t, childHandlerGoexits, b, child.Env(sched.Config{Workers: 1}))
			require.Contains(t, out, sched.ErrGoexit.Error())
			require.Contains(t, out, "Config.Panicked")
		})
	}
}

// A handler gets the value and the task's own stack, on the task's fiber, and the
// worker goes on.
func TestPanicked(t *testing.T) {
	suite.EachConfig(t, suite.AnyWorkers, func(t *testing.T, cfg sched.Config) {
		const tasks = 20
		var values, wanted schedtest.Journal[any]
		fibers := make([]*sched.Fiber, tasks)
		deferred := make([]bool, tasks)
		over := schedtest.NewLatch(tasks)
		cfg.Panicked = func(value any, stack []byte) {
			values.Add(value)
			i := value.(int)
			assert.True(t, deferred[i], "the task's deferred functions come first")
			assert.Same(t, fibers[i], sched.Current())
			assert.Contains(t, string(stack), "crash.PanicWith")
			over.Done()
		}
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			for i := range tasks {
				wanted.Add(i)
				schedtest.Schedule(t, s, func() {
					defer func() { deferred[i] = true }()
					if i%2 == 0 {
						sched.Sleep(1)
					}
					fibers[i] = sched.Current()
					crash.PanicWith(i)
				})
			}
			over.Wait()
			assert.ElementsMatch(t, wanted.All(), values.All())
			schedtest.Perform(t, s, func() {})
		})
	})
}
