package fiber_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/tests/internal/cbody"
	"fiberlab/tests/internal/suite"
)

// held is how many fibers a fresh batch holds at once, and heldThreads how many threads.
const (
	held        = 10_000
	heldThreads = 1000
)

// fewestPooled is how many fibers a pooled sub-benchmark makes even if b.N asks for less.
const fewestPooled = 1000

// freshVariable names the environment variable that makes this program the process of a fresh batch
// of the kind it names.
const freshVariable = "FIBERLAB_FRESH_BATCH"

// fiberKind is a backend and the language of the body.
type fiberKind struct {
	backend fiber.Backend
	c       bool
}

func fiberKinds() (kinds []fiberKind) {
	for _, b := range suite.HandSwitched {
		kinds = append(kinds, fiberKind{b, true}, fiberKind{b, false})
	}
	return append(kinds, fiberKind{fiber.Goroutine, false})
}

func (k fiberKind) String() string {
	if k.c {
		return k.backend.String() + "/c"
	}
	return k.backend.String() + "/go"
}

// make makes a fiber of kind k. If hold is true its body switches to root, once, before it ends.
func (k fiberKind) make(root *fiber.Fiber, hold bool) (*fiber.Fiber, error) {
	cfg := fiber.Config{Name: "bench", Backend: k.backend}
	if k.c {
		body, arg := cbody.Nothing, unsafe.Pointer(nil)
		if hold {
			body, arg = cbody.Hold, root.Handle()
		}
		return fiber.NewC(cfg, body, arg)
	}
	if !hold {
		return fiber.New(cfg, func() {})
	}
	return fiber.New(cfg, func() {
		if err := fiber.Current().SwitchTo(root); err != nil {
			panic(err)
		}
	})
}

// BenchmarkCreate measures making fibers. An op is one fiber.
//
// pooled: a fiber is created, entered, ended and closed, then the next; the pool has what it needs.
//
// fresh: 10,000 fibers are created and entered, and all stay suspended. The pool is empty before. What they need from
// the runtime and the kernel is fresh only once in a process, so every batch has its own process. A batch is always
// whole: b.N is rounded up to a multiple of 10,000, also from 1. ns/op is the time from the first New until the last
// fiber is suspended, divided by 10,000. It excludes ending the fibers, starting the process and reading its memory.
// rss-B/fiber is the growth of the resident memory of the process, divided by 10,000, measured after a garbage
// collection. faults/fiber is its page faults. x-begin is its resident memory after the fibers have ended and Drain, as
// a multiple of what it was before, and left-B/fiber the growth, divided by 10,000.
//
// thread: 1,000 threads of C, as fresh, which know nothing of fibers. The threads of thread/go call Go and stay there.
// What they take more than thread/c, in memory and page faults, the Go runtime takes for a fresh Go fiber too, and it
// keeps what they leave. Their ns/op includes waits for a P. They are a tenth of the fibers, so compare left-B/fiber
// and not x-begin.
func BenchmarkCreate(b *testing.B) {
	for _, k := range fiberKinds() {
		b.Run(k.String()+"/pooled", func(b *testing.B) { benchmarkPooled(b, k) })
		b.Run(k.String()+"/fresh", func(b *testing.B) { benchmarkFresh(b, k.String(), held) })
	}
	for _, kind := range threadKinds {
		b.Run(kind+"/fresh", func(b *testing.B) { benchmarkFresh(b, kind, heldThreads) })
	}
}

var threadKinds = []string{"thread/c", "thread/go"}

func benchmarkPooled(b *testing.B, k fiberKind) {
	root, err := fiber.Attach(k.backend)
	require.NoError(b, err)
	one := func() {
		f, err := k.make(root, false)
		if err == nil {
			err = root.SwitchTo(f)
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			b.Error(err)
		}
	}
	one() // fills the pool
	fibers := max(b.N, fewestPooled)
	b.ResetTimer()
	for range fibers {
		one()
	}
	b.StopTimer()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(fibers), "ns/op")
	require.NoError(b, root.Detach())
	require.NoError(b, fiber.Drain())
}

// benchmarkFresh measures batches of n fibers, or threads, of that kind.
func benchmarkFresh(b *testing.B, kind string, n int) {
	batches := (b.N + n - 1) / n
	var elapsed time.Duration
	var resident, faults, left, multiple float64
	for range batches {
		batch, err := startFreshBatch(kind)
		require.NoError(b, err)
		elapsed += batch.Elapsed
		resident += float64(batch.Resident)
		faults += float64(batch.Faults)
		left += float64(batch.Left - batch.Before)
		multiple += float64(batch.Left) / float64(batch.Before)
	}
	fibers := float64(batches * n)
	b.ReportMetric(float64(elapsed.Nanoseconds())/fibers, "ns/op")
	b.ReportMetric(resident/fibers, "rss-B/fiber")
	b.ReportMetric(faults/fibers, "faults/fiber")
	b.ReportMetric(left/fibers, "left-B/fiber")
	b.ReportMetric(multiple/float64(batches), "x-begin")
}

// batch is what one fresh batch took.
type batch struct {
	Elapsed  time.Duration
	Before   int64 // resident bytes
	Resident int64 // by how many bytes they grew
	Faults   int64
	Left     int64 // resident bytes in the end
}

// resultFile is where the process of a fresh batch writes what it took: the first of exec's ExtraFiles.
const resultFile = 3

// startFreshBatch runs TestFreshBatch in a child process, for that kind alone.
func startFreshBatch(kind string) (batch, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return batch{}, err
	}
	defer read.Close()
	command := append(strings.Fields(os.Getenv("FIBERLAB_EXEC")), os.Args[0], "-test.run=^TestFreshBatch$")
	c := exec.Command(command[0], command[1:]...)
	c.Env = append(os.Environ(), freshVariable+"="+kind)
	c.ExtraFiles = []*os.File{write}
	out, err := c.CombinedOutput()
	write.Close()
	var result batch
	if err == nil {
		err = json.NewDecoder(read).Decode(&result)
	}
	if err != nil {
		return batch{}, fmt.Errorf("fresh batch of %s: %w: %s", kind, err, out)
	}
	return result, nil
}

// TestFreshBatch holds many fibers of each kind at once. As the process of a fresh batch it does so for
// one kind, and reports what it took.
func TestFreshBatch(t *testing.T) {
	asked := os.Getenv(freshVariable)
	report := func(result batch, err error) {
		require.NoError(t, err)
		require.NoError(t, json.NewEncoder(os.NewFile(resultFile, "result")).Encode(result))
	}
	for _, k := range fiberKinds() {
		switch asked {
		case "":
			_, err := freshBatch(k, held/10)
			require.NoError(t, err, k)
			require.NoError(t, fiber.Drain())
		case k.String():
			report(freshBatch(k, held))
		}
	}
	if slices.Contains(threadKinds, asked) {
		result, err := measure(func() error { return cbody.StartThreads(heldThreads, asked == "thread/go") })
		require.NoError(t, err)
		cbody.EndThreads()
		result.Left, err = residentBytes()
		report(result, err)
	}
}

// freshBatch makes n fibers of kind k, enters each, holds them all, then ends and closes them.
func freshBatch(k fiberKind, n int) (batch, error) {
	root, err := fiber.Attach(k.backend)
	if err != nil {
		return batch{}, err
	}
	fibers := make([]*fiber.Fiber, n)
	clear(fibers) // touches the pages now
	result, err := measure(func() error {
		for i := range fibers {
			f, err := k.make(root, true)
			if err != nil {
				return err
			}
			if err := root.SwitchTo(f); err != nil {
				return err
			}
			fibers[i] = f
		}
		return nil
	})
	if err != nil {
		return batch{}, err
	}
	for _, f := range fibers {
		if err := root.SwitchTo(f); err != nil {
			return batch{}, err
		}
		if err := f.Close(); err != nil {
			return batch{}, err
		}
	}
	if err := errors.Join(root.Detach(), fiber.Drain()); err != nil {
		return batch{}, err
	}
	result.Left, err = residentBytes()
	return result, err
}

// measure returns what make took.
func measure(make func() error) (batch, error) {
	before, err := residentBytes()
	if err != nil {
		return batch{}, err
	}
	faults, start := pageFaults(), time.Now()
	err = make()
	result := batch{Elapsed: time.Since(start), Before: before, Faults: pageFaults() - faults}
	if err != nil {
		return batch{}, err
	}
	after, err := residentBytes()
	result.Resident = after - before
	return result, err
}

// pageFaults is how many page faults this process has had that read nothing from a disk.
func pageFaults() int64 {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return usage.Minflt
}

// residentBytes is the resident memory of this process after garbage is collected and given back.
func residentBytes() (int64, error) {
	runtime.GC()
	debug.FreeOSMemory()
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(statm), &size, &resident); err != nil {
		return 0, fmt.Errorf("/proc/self/statm: %w", err)
	}
	return resident * int64(os.Getpagesize()), nil
}
