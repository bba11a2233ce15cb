package forkjoin_test

import (
	"bytes"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"fiberlab/tests/internal/forkwork"
)

// turn is how long one of the two that are compared goes on before it is the other's turn, so that drift of the machine
// affects both.
const turn = 2 * time.Millisecond

// compare runs a program one way, run, and without forks, in turn, and reports of a run:
//
//	ns/op, B/op, allocs/op   of the way; the time is the median of the turns
//	x                        the time of the program without forks, in the same minute, over this time
//	ns/fork                  the difference of these two times, for each fork; below 0 if the way is quicker
//	stack-KB, peak-MB        the growth of Go's stacks and of the process in a run
//
// The caller is the goroutine or task in which the root of the program runs.
func compare(b *testing.B, w *forkwork.Work, run func() int) {
	b.ReportAllocs()
	want := w.Serial()
	forks := w.Forks()
	began := time.Now()
	if got := run(); got != want {
		b.Errorf("%s: %d, not %d", w.Name, got, want)
		return
	}
	each := max(1, int(turn/max(1, time.Since(began))))
	var own, serial []float64 // ns a run, in each turn
	var allocs, bytes uint64
	b.ResetTimer()
	for left := b.N; left > 0; left -= each {
		n := min(left, each)
		objectsBefore, bytesBefore := allocated()
		began = time.Now()
		for range n {
			run()
		}
		own = append(own, float64(time.Since(began))/float64(n))
		objectsAfter, bytesAfter := allocated()
		allocs += objectsAfter - objectsBefore
		bytes += bytesAfter - bytesBefore
		began = time.Now()
		for range n {
			w.Serial()
		}
		serial = append(serial, float64(time.Since(began))/float64(n))
	}
	b.StopTimer()
	ns, serialNs := median(own), median(serial)
	b.ReportMetric(ns, "ns/op")
	b.ReportMetric(float64(bytes)/float64(b.N), "B/op")
	b.ReportMetric(float64(allocs)/float64(b.N), "allocs/op")
	b.ReportMetric(serialNs/ns, "x")
	b.ReportMetric((ns-serialNs)/float64(forks), "ns/fork")
	reportPeaks(b, run)
}

// median returns the median of the turns. Some turns were disturbed.
func median(turns []float64) float64 {
	slices.Sort(turns)
	return stat.Quantile(0.5, stat.Empirical, turns, nil)
}

// allocated returns how many objects, and bytes, the program has ever allocated.
func allocated() (objects, bytes uint64) {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64(), samples[1].Value.Uint64()
}

// stacks returns how many bytes Go's stacks take.
func stacks() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64()
}

// reportPeaks runs once more, and reports how far Go's stacks have grown, as seen each half a millisecond, and the
// memory of the process.
func reportPeaks(b *testing.B, run func() int) {
	debug.FreeOSMemory()
	// From now on VmHWM is the most since now.
	require.NoError(b, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0))
	before, resident := stacks(), status(b, "VmRSS:")
	var most uint64
	var over atomic.Bool
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for !over.Load() {
			most = max(most, stacks())
			time.Sleep(500 * time.Microsecond)
		}
	}()
	run()
	most = max(most, stacks())
	peak := status(b, "VmHWM:")
	over.Store(true)
	<-watched
	b.ReportMetric(float64(max(most, before)-before)/(1<<10), "stack-KB")
	b.ReportMetric(float64(peak-resident)/(1<<10), "peak-MB")
}

// status returns a number of KB in the kernel's status of this process.
func status(b *testing.B, name string) int {
	text, err := os.ReadFile("/proc/self/status")
	require.NoError(b, err)
	_, after, found := bytes.Cut(text, []byte("\n"+name))
	require.True(b, found, name)
	kb, err := strconv.Atoi(string(bytes.Fields(after)[0]))
	require.NoError(b, err)
	return kb
}
