package fibersync_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/child"
)

// startAll calls each function that starts tasks, and waits for them.
func startAll() {
	fibersync.Parallelize(func() {}, func() {})
	_, _ = fibersync.Async(func() (int, error) { return 1, nil }).Get()
	var group fibersync.WaitGroup
	group.Go(func() {})
	group.Wait()
}

// The callback is told of each function that starts goroutines because it has no scheduler, and of none in a task.
func TestOnGoroutine(t *testing.T) {
	var mu sync.Mutex
	var calls []string
	fibersync.OnGoroutine(func(call string) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, call)
	})
	defer fibersync.OnGoroutine(nil)
	startAll()
	require.Len(t, calls, 3, "%q", calls)
	for i, name := range []string{"fibersync.Parallelize", "fibersync.Async", "fibersync.(*WaitGroup).Go"} {
		require.True(t, strings.HasPrefix(calls[i], name+", called in "), calls[i])
		require.Contains(t, calls[i], "goroutines_test.go:")
	}
	calls = nil
	for _, workers := range []int{0, 2} {
		require.NoError(t, sched.Run(sched.Config{Workers: workers}, startAll))
	}
	require.NoError(t, sched.Run(sched.AllCores(), func() { assert.NoError(t, sched.Get().Go(startAll)) }))
	require.Empty(t, calls)
	require.NoError(t, fiber.Drain())
}

var childGoroutines = child.New("goroutines in the place of tasks", func(t child.T, _ fiber.Backend) {
	startAll()
	startAll()
})

// Without a callback, one line says so.
func TestSaysThatGoroutinesRun(t *testing.T) {
	out, err := child.Run(t, childGoroutines, fiber.Asm)
	require.NoError(t, err, out)
	require.Equal(t, 1, strings.Count(out, "no scheduler takes tasks of the caller"), out)
	require.Regexp(
		t, `(?m)^fiberlab: fibersync\.Parallelize, called in \S+goroutines_test\.go:\d+: no scheduler takes`, out,
	)
}
