package uring_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/sched"
	"fiberlab/sched/uring"
	"fiberlab/sched/uring/fiberio"
)

var benchWorkers = []int{1, 2}

const (
	benchFiles    = 10_000
	benchFileSize = 4 << 10
)

// filesWay is one way to read many files.
type filesWay struct {
	name string
	read func(names []string)
	took []time.Duration
}

// byGoroutines reads files by os.ReadFile on so many goroutines.
func byGoroutines(n int) *filesWay {
	return &filesWay{name: fmt.Sprintf("go-%d", n), read: func(names []string) {
		var next atomic.Int64
		var all sync.WaitGroup
		for range n {
			all.Add(1)
			go func() {
				defer all.Done()
				for i := next.Add(1); int(i) <= len(names); i = next.Add(1) {
					data, err := os.ReadFile(names[i-1])
					mustBeWhole(data, err)
				}
			}()
		}
		all.Wait()
	}}
}

// byFibers reads files by engines on so many fibers of a scheduler with that many workers.
func byFibers(b *testing.B, driver uring.Driver, workers, n int) *filesWay {
	engines, s := attach(b, uring.Options{Driver: driver}, sched.Config{Workers: workers})
	b.Cleanup(func() {
		require.NoError(b, s.Close())
		require.NoError(b, engines.Close())
	})
	return &filesWay{name: fmt.Sprintf("%v-%dw-%d", driver, workers, n), read: func(names []string) {
		var next atomic.Int64
		var all sync.WaitGroup
		for range n {
			all.Add(1)
			require.NoError(b, s.Go(func() {
				defer all.Done()
				for i := next.Add(1); int(i) <= len(names); i = next.Add(1) {
					data, err := fiberio.ReadFile(context.Background(), engines, names[i-1])
					mustBeWhole(data, err)
				}
			}))
		}
		all.Wait()
	}}
}

func mustBeWhole(data []byte, err error) {
	if err != nil || len(data) != benchFileSize {
		panic(fmt.Sprintf("%d bytes, %v", len(data), err))
	}
}

// BenchmarkFiles opens, reads and closes 10,000 files of 4 KB: by fibers with engines, and by goroutines with
// os.ReadFile. Each operation of the benchmark is a pass of each way over all files, one after the other, so that drift
// of the machine affects all alike. What is reported for each way is the median time a file, and how many times quicker
// than the best of the goroutines it is. The cold passes begin with an empty page cache if the caller is root, else the
// files alone are dropped from it.
func BenchmarkFiles(b *testing.B) {
	dir := b.TempDir()
	names := make([]string, benchFiles)
	for i := range names {
		names[i] = filepath.Join(dir, fmt.Sprintf("%02d", i%100), fmt.Sprintf("file%05d", i))
		require.NoError(b, os.MkdirAll(filepath.Dir(names[i]), 0o700))
		require.NoError(b, os.WriteFile(names[i], bytes.Repeat([]byte{byte(i)}, benchFileSize), 0o600))
	}
	for _, cold := range []bool{false, true} {
		cache := "warm"
		if cold {
			cache = "cold"
		}
		b.Run("cache="+cache, func(b *testing.B) {
			ways := []*filesWay{byGoroutines(16), byGoroutines(64), byGoroutines(256)}
			goes := len(ways)
			for _, workers := range benchWorkers {
				for _, n := range []int{64, 256} {
					ways = append(ways, byFibers(b, uring.Uring, workers, n))
				}
			}
			for range b.N {
				for _, w := range ways {
					if cold {
						dropCaches(b, names)
					}
					start := time.Now()
					w.read(names)
					w.took = append(w.took, time.Since(start))
				}
			}
			best := time.Duration(1 << 62)
			for i, w := range ways {
				slices.Sort(w.took)
				median := w.took[len(w.took)/2]
				if i < goes {
					best = min(best, median)
				}
				b.ReportMetric(float64(median.Nanoseconds())/benchFiles, w.name+"-ns/file")
				if i >= goes {
					b.ReportMetric(float64(best)/float64(median), w.name+"-x-go")
				}
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// dropCaches has the next pass read the files from the disk.
func dropCaches(b *testing.B, names []string) {
	unix.Sync()
	if os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0o200) == nil {
		return
	}
	for _, name := range names {
		f, err := os.Open(name)
		require.NoError(b, err)
		require.NoError(b, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
		require.NoError(b, f.Close())
	}
}
