package explore_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/explore"
)

// BenchmarkSchedules counts the schedules of a second of processor time, of a test of 32 events
// (testdata/bench/deque.c). The explorer runs them, and relacy where it is installed (Debian: apt-get install
// relacy-dev). They run in turn, so that noise hits all of them. Each figure is a median.
//
//	nice -n -19 go test -run '^$' -bench Schedules -benchtime 10x -count 5 ./labs/explore
func BenchmarkSchedules(b *testing.B) {
	const schedules = 200_000 // of one run: the test has more
	own := []string{explored(b, "deque.c"), "--seconds", "99", "--schedules", strconv.Itoa(schedules)}
	programs := []struct {
		name string
		argv []string
	}{
		{"bounded", slices.Concat(own, []string{"--preemptions", "9"})}, {"random", append(own, "--random")},
	}
	relacy := filepath.Join(b.TempDir(), "deque")
	said, err := exec.Command(
		"c++", "-std=c++11", "-O2", "-w", "-DNDEBUG", "-o", relacy, filepath.Join("testdata", "bench", "deque.cpp"),
	).CombinedOutput()
	if err == nil {
		programs = append(programs, struct {
			name string
			argv []string
		}{"relacy", []string{relacy, strconv.Itoa(schedules)}})
	} else {
		b.Logf("without relacy, which does not build or is not installed: apt-get install relacy-dev\n%.200s", said)
	}
	rates := map[string][]float64{}
	for b.Loop() {
		for _, p := range programs {
			rates[p.name] = append(rates[p.name], schedules/used(b, p.argv).Seconds())
		}
	}
	for _, p := range programs {
		b.ReportMetric(median(rates[p.name]), p.name+"/s")
	}
	if err == nil {
		b.ReportMetric(median(rates["random"])/median(rates["relacy"]), "random/relacy")
	}
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
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

// used returns the processor time of one run of a program.
func used(b *testing.B, argv []string) time.Duration {
	b.Helper()
	c := exec.Command(argv[0], argv[1:]...)
	require.NoError(b, c.Run())
	return c.ProcessState.UserTime()
}
