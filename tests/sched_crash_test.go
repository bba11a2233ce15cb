package tests

import (
	"os"
	"regexp"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/tests/trapbody"
)

// envWorkers tells a child how many workers its scheduler shall have.
const envWorkers = "FIBERLAB_CRASH_WORKERS"

// newTaskCrash registers a child that runs a task, which must end the process.
func newTaskCrash(name string, task func()) string {
	return newChild(name, func(t childT, b fiber.Backend) {
		n, err := strconv.Atoi(os.Getenv(envWorkers))
		require.NoError(t, err)
		s, err := sched.New(sched.Config{Workers: n, Backend: b})
		require.NoError(t, err)
		if n == 0 {
			require.NoError(t, s.Bind())
		}
		require.NoError(t, s.Enqueue(sched.Task{Func: task}))
		if n == 0 {
			require.NoError(t, sched.Unbind())
		}
		require.NoError(t, s.Close())
		os.Exit(1)
	})
}

var (
	childTaskPanics      = newTaskCrash("task panics", panicOnPurpose)
	childTaskPanicsLater = newTaskCrash("task panics after a wait", func() {
		sched.Sleep(1)
		panicOnPurpose()
	})
	childTaskGoexits = newTaskCrash("task calls Goexit", runtime.Goexit)
	childTaskFails   = newTaskCrash("task calls FailNow", new(testing.T).FailNow)
)

// eachTaskCrash runs the children for every backend, with and without workers.
func eachTaskCrash(t *testing.T, names []string, check func(t *testing.T, out string)) {
	for _, name := range names {
		for _, b := range fiber.Backends() {
			for _, n := range []string{"0", "2"} {
				t.Run(name+"/"+b.String()+"/workers="+n, func(t *testing.T) {
					t.Parallel()
					check(t, runChildCrash(t, name, b, envWorkers+"="+n))
				})
			}
		}
	}
}

// A panic of a task ends the program, and shows the frames that panicked.
func TestTaskPanics(t *testing.T) {
	eachTaskCrash(t, []string{childTaskPanics, childTaskPanicsLater}, func(t *testing.T, out string) {
		require.Contains(t, out, "boom 42")
		require.Contains(t, out, "tests.panicOnPurpose")
		require.Contains(t, out, "crash_test.go")
	})
}

var childTaskOverflows = newTaskCrash("task overflows", trapbody.Overflow)

// A worker's first fiber has its thread's own stack. An overflow of that is reported like the others.
func TestTaskOverflowsThread(t *testing.T) {
	report := regexp.MustCompile(`(?m)^fiberlab: stack overflow on fiber "scheduler worker \d fiber 0": ` +
		`its C stack, the thread's own of some \d+ bytes, ran out at 0x[0-9a-f]+; raise the limit`)
	for _, b := range []fiber.Backend{fiber.Asm, fiber.Ucontext} {
		t.Run(b.String(), func(t *testing.T) {
			t.Parallel()
			out := runChildCrash(t, childTaskOverflows, b, envWorkers+"=2")
			require.Regexp(t, report, out)
			requireGoReport(t, out)
		})
	}
}

// A task that calls Goexit is told what to do instead.
func TestTaskCallsGoexit(t *testing.T) {
	eachTaskCrash(t, []string{childTaskGoexits, childTaskFails}, func(t *testing.T, out string) {
		require.Contains(t, out, sched.ErrGoexit.Error())
		require.Contains(t, out, "runtime.Goexit")
	})
}

// A handler gets the value and the task's own stack, on the task's fiber, and the
// worker goes on.
func TestPanicked(t *testing.T) {
	eachConfig(t, anyWorkers, func(t *testing.T, cfg sched.Config) {
		const tasks = 20
		var values, wanted journal[any]
		fibers := make([]*sched.Fiber, tasks)
		deferred := make([]bool, tasks)
		over := newLatch(tasks)
		cfg.Panicked = func(value any, stack []byte) {
			values.add(value)
			i := value.(int)
			assert.True(t, deferred[i], "the task's deferred functions come first")
			assert.Same(t, fibers[i], sched.Current())
			assert.Contains(t, string(stack), "tests.panicWith")
			over.done()
		}
		onScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			for i := range tasks {
				wanted.add(i)
				schedule(t, s, func() {
					defer func() { deferred[i] = true }()
					if i%2 == 0 {
						sched.Sleep(1)
					}
					fibers[i] = sched.Current()
					panicWith(i)
				})
			}
			over.wait()
			assert.ElementsMatch(t, wanted.all(), values.all())
			perform(t, s, func() {})
		})
	})
}

//go:noinline
func panicWith(value any) { panic(value) }
