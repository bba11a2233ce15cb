// Package leaks checks that tests leave nothing behind:
// stacks, fibers, identities, goroutines, threads, mappings, descriptors.
package leaks

import (
	"bytes"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
)

// What the process may gain over the whole run without a leak:
// threads that the runtime keeps for later, arenas of the Go heap and of malloc. For mappings see also race_on.go.
const (
	threadsToSpare  = 60
	mappingsToSpare = 300 + mappingsOfRaceDetector
)

// Holdings holds the counts of package fiber and of the process that show what a test left behind.
type Holdings struct {
	Stats                          fiber.Stats
	Goroutines                     int
	Threads, Mappings, Descriptors int
}

// Read returns what the process holds now.
func Read() (Holdings, error) {
	goroutines := runtime.NumGoroutine() // first: what goroutines that have ended gave back is seen below
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return Holdings{}, err
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return Holdings{}, err
	}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return Holdings{}, err
	}
	return Holdings{
		Stats:       fiber.ReadStats(),
		Goroutines:  goroutines,
		Threads:     len(tasks),
		Mappings:    bytes.Count(maps, []byte("\n")),
		Descriptors: len(files),
	}, nil
}

// atStart is what the process held when the first test began, after everything
// that is set up once had been set up.
var atStart = sync.OnceValues(func() (Holdings, error) {
	for _, b := range fiber.Backends() {
		if b != fiber.Goroutine && fiber.Supported() != nil {
			continue
		}
		if err := fiber.Prewarm(fiber.Config{Backend: b}, 1); err != nil {
			return Holdings{}, err
		}
	}
	if err := fiber.Drain(); err != nil {
		return Holdings{}, err
	}
	return Read()
})

// leftBehind is what tests that failed have left. Only they are to blame for it.
var leftBehind struct{ threads, mappings int }

// givenUp is how many threads workers have given up at a time, at most.
var givenUp atomic.Int64

// GivesUp declares that a test has n workers which give their threads up while they are idle. The runtime keeps these
// threads for later.
func GivesUp(n int) {
	for most := givenUp.Load(); int64(n) > most && !givenUp.CompareAndSwap(most, int64(n)); most = givenUp.Load() {
	}
}

// Check checks at the end of the test that what it made is gone. Runners on
// which a body called runtime.Goexit are allowed for: they stay, by contract.
func Check(t *testing.T) {
	t.Helper()
	start, err := atStart()
	require.NoError(t, err)
	before := Settle(t)
	t.Cleanup(func() {
		defer func() {
			if t.Failed() {
				now := Settle(t)
				leftBehind.threads += max(0, now.Threads-before.Threads)
				leftBehind.mappings += max(0, now.Mappings-before.Mappings)
			}
		}()
		if t.Failed() {
			return // what it left behind would only hide why
		}
		most := start.Threads + threadsToSpare + int(givenUp.Load()) + leftBehind.threads
		mostMappings := func(now Holdings) int {
			ofThreads := 2 * max(0, now.Threads-start.Threads) // a stack and its guard page
			return start.Mappings + mappingsToSpare + ofThreads + leftBehind.mappings + 4*now.Stats.Stranded
		}
		after := settled(t, func(now Holdings) bool {
			stranded := now.Stats.Stranded - before.Stats.Stranded
			return now.Goroutines <= before.Goroutines+stranded && now.Descriptors <= before.Descriptors &&
				now.Threads <= most && now.Mappings <= mostMappings(now)
		})
		was, is := before.Stats, after.Stats
		stranded := is.Stranded - was.Stranded
		assert.Equal(t, was.Fibers, is.Fibers, "fibers that were not closed")
		assert.Equal(t, was.Roots, is.Roots, "roots that were not detached")
		assert.LessOrEqual(t, is.Identities, was.Identities+stranded, "identities after Drain")
		assert.LessOrEqual(t, is.Stacks, was.Stacks+stranded, "stacks after Drain")
		assert.LessOrEqual(t, is.Idle, was.Idle+stranded, "idle runners after Drain")
		if !assert.LessOrEqual(t, after.Goroutines, before.Goroutines+stranded, "goroutines") {
			stacks := make([]byte, 1<<20)
			t.Logf("%s", stacks[:runtime.Stack(stacks, true)])
		}
		assert.LessOrEqual(t, after.Descriptors, before.Descriptors, "open files")
		assert.LessOrEqual(t, after.Threads, most, "threads")
		assert.LessOrEqual(t, after.Mappings, mostMappings(after), "mappings")
	})
}

// Settle drains the pool of package fiber and returns what the process holds.
func Settle(t *testing.T) Holdings {
	t.Helper()
	return settled(t, func(Holdings) bool { return true })
}

// settled drains the pool and waits, for a bounded time, until what the process holds satisfies enough. Goroutines and
// threads that have been told to end need a moment, and so does a thread that unmaps stacks.
func settled(t *testing.T, enough func(Holdings) bool) Holdings {
	t.Helper()
	require.NoError(t, fiber.Drain())
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		now, err := Read()
		require.NoError(t, err)
		if enough(now) || time.Now().After(deadline) {
			return now
		}
	}
}
