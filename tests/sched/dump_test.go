package sched_test

import (
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/suite"
)

// dumpedTask never returns.
func dumpedTask() { sched.Current().Wait(nil, func() bool { return false }) }

// dumpingTask asks for a dump of the process and does not return. The signal comes to its own thread: a dump that
// another thread makes has no stack of a goroutine that runs.
func dumpingTask() {
	runtime.LockOSThread()
	_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGQUIT)
	select {}
}

var childDump = child.New("dump", func(t child.T, b fiber.Backend) {
	cfg := child.Config(t, b)
	cfg.Name = "dumped"
	s, err := sched.New(cfg)
	require.NoError(t, err)
	var yielded sync.WaitGroup
	yielded.Add(3)
	for range 3 {
		require.NoError(t, s.Enqueue(sched.Task{Func: func() {
			sched.Yield()
			yielded.Done()
		}}))
		require.NoError(t, s.Enqueue(sched.Task{Func: dumpedTask}))
	}
	yielded.Wait() // the only worker has no fiber then that is ready
	require.NoError(t, s.Enqueue(sched.Task{Func: dumpingTask}))
	select {}
})

// The dump that SIGQUIT asks for shows which goroutines are fibers, and what they run.
func TestDumpNamesFibersAndTasks(t *testing.T) {
	suite.EachConfig(t, []int{1}, func(t *testing.T, cfg sched.Config) {
		out := child.RunCrash(t, childDump, cfg.Backend, child.Env(cfg))
		table := regexp.MustCompile(
			`(?m)^fiberlab: goroutine (\d+) is fiber "dumped worker 0 fiber (\d+)", (\w+)(?:, task (\S+))?$`,
		)
		numbers := map[string]bool{}
		tasks := map[string]int{}
		for _, line := range table.FindAllStringSubmatch(out, -1) {
			goroutine, state, task := line[1], line[3], line[4]
			if task == "" {
				continue // an idle fiber
			}
			assert.False(t, numbers[goroutine], "goroutine %s is listed twice", goroutine)
			numbers[goroutine] = true
			_, stack, found := strings.Cut(out, "\ngoroutine "+goroutine+" ")
			if !assert.True(t, found, "goroutine %s is not in the dump", goroutine) {
				continue
			}
			stack, _, _ = strings.Cut(stack, "\n\n")
			tasks[state+" "+task]++
			assert.Contains(t, stack, task+"(")
		}
		assert.Equal(t, map[string]int{
			"Suspended fiberlab/tests/sched_test.dumpedTask": 3,
			"Running fiberlab/tests/sched_test.dumpingTask":  1,
		}, tasks)
	})
}
