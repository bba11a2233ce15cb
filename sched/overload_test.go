package sched

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// onFullScheduler calls test with a full scheduler of each backend and policy. Its only worker is held until release is
// called, and callers is the number of callers that wait for room. When test has returned, the scheduler is released,
// and must run what all callers have enqueued. cfg may be changed by configure, which may be nil.
func onFullScheduler(t *testing.T, callers int, configure func(cfg *Config), test func(t *testing.T, s *Scheduler)) {
	eachConfig(t, func(t *testing.T, cfg Config) {
		cfg.Name, cfg.Workers, cfg.MaxQueued = "crowd", 1, 1
		if configure != nil {
			configure(&cfg)
		}
		s, err := New(cfg)
		require.NoError(t, err)
		s.room.ReportEvery = time.Millisecond
		held, release := make(chan struct{}), make(chan struct{})
		require.NoError(t, s.Go(func() { close(held); <-release }))
		<-held
		require.NoError(t, s.Go(func() {}))
		var ran atomic.Int64
		var all sync.WaitGroup
		all.Add(callers)
		for range callers {
			go func() {
				defer all.Done()
				assert.NoError(t, s.Go(func() { ran.Add(1) }))
			}()
		}
		eventually(t, "not all callers wait for room", func() bool { return s.Stats().Enqueuing == callers })
		test(t, s)
		close(release)
		all.Wait()
		require.NoError(t, s.Close())
		require.EqualValues(t, callers, ran.Load(), "tasks that have run")
	})
}

// eventually waits until cond holds; what says what is wrong if it never does.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(hang); !cond(); time.Sleep(100 * time.Microsecond) {
		require.True(t, time.Now().Before(end), what)
	}
}

// A scheduler that stays full says so again and again while callers wait, one call at a time, and not when they have
// room.
func TestOverloadIsReported(t *testing.T) {
	const callers = 3
	type told struct{ reports, atOnce, waiting, since atomic.Int64 }
	var of *told // what this scheduler has said: the last report of another one may still be under way
	configure := func(cfg *Config) {
		mine := new(told)
		of = mine
		cfg.Overloaded = func(n int, full time.Duration) {
			assert.EqualValues(t, 1, mine.atOnce.Add(1), "calls at a time")
			assert.Greater(
				t, int64(full), mine.since.Swap(int64(full)), "the scheduler has been full for less time than before",
			)
			mine.waiting.Store(int64(n))
			mine.reports.Add(1)
			mine.atOnce.Add(-1)
		}
	}
	onFullScheduler(t, callers, configure, func(t *testing.T, s *Scheduler) {
		before := of.reports.Load()
		eventually(t, "a full scheduler does not say so", func() bool { return of.reports.Load() >= before+3 })
		require.EqualValues(t, callers, of.waiting.Load(), "callers that wait")
	})
}

// Without Config.Overloaded a line goes to stderr, which names the scheduler and the remedy.
func TestOverloadLine(t *testing.T) {
	name := filepath.Join(t.TempDir(), "stderr")
	file, err := os.Create(name)
	require.NoError(t, err)
	defer file.Close()
	defer func(old *os.File) { os.Stderr = old }(os.Stderr)
	os.Stderr = file
	cfg, err := Config{Name: "crowd", MaxQueued: 7}.checked()
	require.NoError(t, err)
	cfg.Overloaded(5, 3*time.Second)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(text), "\n"), string(text))
	for _, part := range []string{"fiberlab: crowd", "3s", "5 callers", "7 tasks", "Config.MaxQueued", "workers"} {
		require.Contains(t, string(text), part)
	}
}
