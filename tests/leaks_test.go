package tests

import (
	"bytes"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
)

// What the process may gain over the whole run without anybody having leaked:
// threads that the runtime keeps for later, arenas of the Go heap and of malloc.
const (
	threadsToSpare  = 60
	mappingsToSpare = 300
)

// holdings is what a test might leave behind.
type holdings struct {
	stats                          fiber.Stats
	goroutines                     int
	threads, mappings, descriptors int
}

func readHoldings() (holdings, error) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return holdings{}, err
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return holdings{}, err
	}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return holdings{}, err
	}
	return holdings{
		stats:       fiber.ReadStats(),
		goroutines:  runtime.NumGoroutine(),
		threads:     len(tasks),
		mappings:    bytes.Count(maps, []byte("\n")),
		descriptors: len(files),
	}, nil
}

// atStart is what the process held when the first test began, after everything
// that is set up once had been set up.
var atStart = sync.OnceValues(func() (holdings, error) {
	for _, b := range fiber.Backends() {
		if err := fiber.Prewarm(fiber.Config{Backend: b}, 1); err != nil {
			return holdings{}, err
		}
	}
	if err := fiber.Drain(); err != nil {
		return holdings{}, err
	}
	return readHoldings()
})

// leftBehind is what tests that failed have left. Only they are to blame for it.
var leftBehind struct{ threads, mappings int }

// noLeaks checks at the end of the test that what it made is gone. Carriers on
// which a body called runtime.Goexit are allowed for: they stay, by contract.
func noLeaks(t *testing.T) {
	t.Helper()
	start, err := atStart()
	require.NoError(t, err)
	before := settled(t, func(holdings) bool { return true })
	t.Cleanup(func() {
		defer func() {
			if t.Failed() {
				now := settled(t, func(holdings) bool { return true })
				leftBehind.threads += max(0, now.threads-before.threads)
				leftBehind.mappings += max(0, now.mappings-before.mappings)
			}
		}()
		if t.Failed() {
			return // what it left behind would only hide why
		}
		most := start.threads + threadsToSpare + leftBehind.threads
		after := settled(t, func(now holdings) bool {
			stranded := now.stats.Stranded - before.stats.Stranded
			return now.goroutines <= before.goroutines+stranded && now.descriptors <= before.descriptors &&
				now.threads <= most
		})
		was, is := before.stats, after.stats
		stranded := is.Stranded - was.Stranded
		assert.Equal(t, was.Fibers, is.Fibers, "fibers that were not closed")
		assert.Equal(t, was.Roots, is.Roots, "roots that were not detached")
		assert.LessOrEqual(t, is.Identities, was.Identities+stranded, "identities after Drain")
		assert.LessOrEqual(t, is.Stacks, was.Stacks+stranded, "stacks after Drain")
		assert.LessOrEqual(t, is.Idle, was.Idle+stranded, "idle carriers after Drain")
		if !assert.LessOrEqual(t, after.goroutines, before.goroutines+stranded, "goroutines") {
			stacks := make([]byte, 1<<20)
			t.Logf("%s", stacks[:runtime.Stack(stacks, true)])
		}
		assert.LessOrEqual(t, after.descriptors, before.descriptors, "open files")
		assert.LessOrEqual(t, after.threads, most, "threads")
		assert.LessOrEqual(t, after.mappings, start.mappings+mappingsToSpare+leftBehind.mappings+4*is.Stranded, "mappings")
	})
}

// settled drains the pool and waits, for a bounded time, until what the process
// holds satisfies enough: goroutines and threads that have been told to end need
// a moment for it.
func settled(t *testing.T, enough func(holdings) bool) holdings {
	t.Helper()
	require.NoError(t, fiber.Drain())
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		now, err := readHoldings()
		require.NoError(t, err)
		if enough(now) || time.Now().After(deadline) {
			return now
		}
	}
}
