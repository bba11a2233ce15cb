package explore_test

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/explore"
)

// BenchmarkSchedules has the schedules of a second of processor time: of the test of testdata/bench/deque.c, of 32
// events, by the explorer, and by relacy where it is installed. BenchmarkPoint has the cost of a schedule point: one
// exchange of two objects by two threads.
//
//	nice -n -19 go test -run '^$' -bench 'Schedules|Point' -count 5 ./labs/explore
func BenchmarkSchedules(b *testing.B) {
	const schedules = 200_000
	rate := func(b *testing.B, program string, flags ...string) {
		used := measured(b, program, append(flags, strconv.Itoa(schedules))...)
		b.ReportMetric(schedules/used.Seconds(), "schedules/s")
	}
	b.Run("explorer/bounded", func(b *testing.B) { // there are more than that
		rate(b, explored(b, "deque.c"), "--seconds", "99", "--preemptions", "9", "--schedules")
	})
	b.Run("explorer/random", func(b *testing.B) {
		rate(b, explored(b, "deque.c"), "--seconds", "99", "--random", "--schedules")
	})
	b.Run("relacy/random", func(b *testing.B) {
		program := filepath.Join(b.TempDir(), "deque")
		said, err := exec.Command(
			"c++", "-std=c++11", "-O2", "-w", "-DNDEBUG", "-o", program, filepath.Join("testdata", "bench", "deque.cpp"),
		).CombinedOutput()
		if err != nil {
			b.Skipf("relacy does not build, or is not installed (Debian: relacy-dev): %.200s", said)
		}
		rate(b, program)
	})
}

func BenchmarkPoint(b *testing.B) {
	const points, schedules = 100, 20_000
	used := measured(b, explored(b, "points.c"), "--seconds", "99", "--random", "--schedules", strconv.Itoa(schedules))
	b.ReportMetric(float64(used.Nanoseconds())/(points*schedules), "ns/point")
}

// explored builds a program of testdata/bench.
func explored(b *testing.B, file string) string {
	b.Helper()
	tools, err := explore.NewRuntime(b.Context(), "")
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, tools.Close()) })
	p, _, err := tools.Build(b.Context(), []string{filepath.Join("testdata", "bench", file)}, explore.BuildOptions{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, p.Close()) })
	return p.Path
}

// measured runs the program again and again, and returns the processor time of a run.
func measured(b *testing.B, program string, flags ...string) (used time.Duration) {
	b.Helper()
	for b.Loop() {
		c := exec.Command(program, flags...)
		require.NoError(b, c.Run())
		used += c.ProcessState.UserTime()
	}
	return used / time.Duration(b.N)
}
