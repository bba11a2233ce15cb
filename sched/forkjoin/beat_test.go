package forkjoin

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const testPeriod = 100 * time.Microsecond

// beatThreads are the folders in /proc of the threads that beat.
func beatThreads(t *testing.T) (folders []string) {
	names, err := filepath.Glob("/proc/self/task/*/comm")
	require.NoError(t, err)
	for _, name := range names {
		if text, _ := os.ReadFile(name); string(text) == "fiberlab-beat\n" { // other threads may end meanwhile
			folders = append(folders, filepath.Dir(name))
		}
	}
	return folders
}

// startBeat is beatStart until the end of the test, when it checks that no thread is left.
func startBeat(t *testing.T, period time.Duration) {
	require.NoError(t, beatStart(period))
	t.Cleanup(func() {
		beatStop(period)
		requireNoBeat(t)
	})
}

// requireNoBeat waits until the kernel has forgotten the thread, which has ended.
func requireNoBeat(t *testing.T) {
	require.Eventually(t, func() bool { return len(beatThreads(t)) == 0 }, time.Minute, time.Millisecond, "threads that beat")
}

// requireOneBeat returns the folder of the only thread that beats. It waits until the kernel has forgotten threads that have ended: it
// says that a thread is over, and lists it for a while yet.
func requireOneBeat(t *testing.T) (folder string) {
	var threads []string
	require.Eventually(t, func() bool {
		threads = beatThreads(t)
		return len(threads) == 1
	}, time.Minute, time.Millisecond, "one thread that beats")
	return threads[0]
}

const beatWait = time.Minute // for what comes within a millisecond on an idle machine, and never if a wake-up is lost

// requireBeats waits for so many beats.
func requireBeats(t *testing.T, n uint32) {
	seen, limit := beats.Load(), time.Now().Add(beatWait)
	for beats.Load()-seen < n {
		require.True(t, time.Now().Before(limit), "%d beats in %v; busy pools: %d", beats.Load()-seen, beatWait, poolsBusy.Load())
	}
}

// requireSleep waits until the thread sleeps.
func requireSleep(t *testing.T) {
	require.Eventually(t, func() bool { return beatAsleep.Load() == 1 }, beatWait, testPeriod, "the thread does not sleep")
}

// Beats come while a pool is busy. When none is the thread sleeps, until one is.
func TestBeatsComeWhileBusy(t *testing.T) {
	startBeat(t, testPeriod)
	for range 5 {
		requireSleep(t)
		seen := beats.Load()
		time.Sleep(20 * testPeriod)
		require.Equal(t, seen, beats.Load(), "a beat without a busy pool")
		busy()
		busy()
		requireBeats(t, 3)
		idle()
		requireBeats(t, 3)
		idle()
	}
}

// Beats come while each processor runs a goroutine that does not block.
func TestBeatsComeBesideBusyProcessors(t *testing.T) {
	startBeat(t, testPeriod)
	requireSleep(t)
	var done atomic.Bool
	var computing sync.WaitGroup
	defer computing.Wait()
	defer done.Store(true)
	for range runtime.GOMAXPROCS(0) {
		computing.Add(1)
		go func() {
			defer computing.Done()
			for !done.Load() {
			}
		}()
	}
	busy()
	defer idle()
	requireBeats(t, 3)
}

// A pool becomes busy about when the thread falls asleep. A beat comes all the same.
func TestNoWakeOfTheBeatIsLost(t *testing.T) {
	startBeat(t, 10*time.Microsecond)
	for range 100 {
		busy()
		requireBeats(t, 1)
		idle()
		for range rand.IntN(3000) {
			beatAsleep.Load()
			runtime.Gosched()
		}
	}
}

// The shortest period counts. A change of it does not wait for the end of a longer one, and neither does the end.
func TestShortestPeriodCounts(t *testing.T) {
	for _, longest := range []time.Duration{24 * time.Hour, math.MaxInt64} {
		t.Run(longest.String(), func(t *testing.T) {
			startBeat(t, longest)
			busy()
			defer idle()
			for range 3 {
				require.NoError(t, beatStart(testPeriod))
				require.NoError(t, beatStart(testPeriod))
				beatStop(testPeriod)
				requireOneBeat(t)
				requireBeats(t, 1)
				beatStop(testPeriod)
			}
			seen := beats.Load()
			time.Sleep(20 * testPeriod)
			require.LessOrEqual(t, beats.Load()-seen, uint32(1), "beats of a period that has been taken back")
		})
	}
}

// The thread comes with the first pool and goes with the last, again and again.
func TestBeatStartsAndStops(t *testing.T) {
	for range 200 {
		require.NoError(t, beatStart(testPeriod))
		require.NoError(t, beatStart(testPeriod))
		beatStop(testPeriod)
		requireOneBeat(t)
		beatStop(testPeriod)
	}
	requireNoBeat(t)
}

// Go's signals do not reach the thread, which has no Go stack to handle them on.
func TestBeatBlocksSignals(t *testing.T) {
	startBeat(t, testPeriod)
	status, err := os.ReadFile(requireOneBeat(t) + "/status")
	require.NoError(t, err)
	text := regexp.MustCompile(`(?m)^SigBlk:\s+([0-9a-f]+)$`).FindSubmatch(status)
	require.NotNil(t, text, "%s", status)
	blocked, err := strconv.ParseUint(string(text[1]), 16, 64)
	require.NoError(t, err)
	// KILL and STOP cannot be blocked. An emulator needs BUS and SEGV, and some real-time signals, from 32 on.
	const other = 1<<(9-1) | 1<<(19-1) | 1<<(7-1) | 1<<(11-1)
	require.Equal(t, uint64(1<<31-1), (blocked|other)&(1<<31-1), "%x", blocked)
}
