package sched_test

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/stack/stacktest"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// resident is the process's memory that is not swapped or never touched, in KB.
type resident struct {
	all      int
	goHeap   int // in Go's heap, where goroutines' stacks and the runtime's Ms are too
	metadata int // the runtime's records of that heap, by its own count
}

// ours is all but what the Go runtime decides about.
func (r resident) ours() int { return r.all - r.goHeap - r.metadata }

func (r resident) String() string {
	return fmt.Sprintf("%d KB: %d in Go's heap, %d of its records, %d others", r.all, r.goHeap, r.metadata, r.ours())
}

// heapObject is in Go's heap, which is one range of addresses.
var heapObject = new([1 << 16]byte)

func readResident(t require.TestingT) resident {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	r := resident{
		metadata: int((stats.MSpanSys + stats.MCacheSys + stats.BuckHashSys + stats.GCSys + stats.OtherSys) >> 10),
	}
	smaps, err := os.Open("/proc/self/smaps")
	require.NoError(t, err)
	defer smaps.Close()
	inHeap := false
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if from, _, ok := strings.Cut(fields[0], "-"); ok { // the head of a mapping
			start, err := strconv.ParseUint(from, 16, 64)
			require.NoError(t, err)
			const sameRange = 40
			inHeap = len(fields) == 5 && start>>sameRange == uint64(uintptr(unsafe.Pointer(heapObject)))>>sameRange
		} else if fields[0] == "Rss:" {
			kb, err := strconv.Atoi(fields[1])
			require.NoError(t, err)
			r.all += kb
			if inHeap {
				r.goHeap += kb
			}
		}
	}
	return r
}

// heldByProject returns how many bytes of Go's heap functions of this project have allocated and still hold.
func heldByProject(t require.TestingT) (bytes int64) {
	for range 2 { // the profile is as of the collection before the last
		runtime.GC()
	}
	n, _ := runtime.MemProfile(nil, false)
	records := make([]runtime.MemProfileRecord, n+1000)
	n, ok := runtime.MemProfile(records, false)
	require.True(t, ok)
	for i := range records[:n] {
		frames := runtime.CallersFrames(records[i].Stack())
		for more := true; more; {
			var frame runtime.Frame
			frame, more = frames.Next()
			if strings.HasPrefix(frame.Function, "fiberlab/fiber") ||
				strings.HasPrefix(frame.Function, "fiberlab/stack") ||
				strings.HasPrefix(frame.Function, "fiberlab/sched.") {
				bytes += records[i].InUseBytes()
				break
			}
		}
	}
	return bytes
}

// envTasks tells childGivesBack how many tasks to block.
const envTasks = "FIBERLAB_CRASH_TASKS"

// After many tasks were blocked at a time, all memory that this project has got for them is given back soon after the
// scheduler is closed. The Go runtime may keep its own.
var childGivesBack = child.New("gives back", func(t child.T, b fiber.Backend) {
	runtime.MemProfileRate = 1
	tasks, err := strconv.Atoi(os.Getenv(envTasks))
	require.NoError(t, err)
	s, err := sched.New(sched.Config{Backend: b, Workers: 2})
	require.NoError(t, err)
	look := func() (r resident) {
		// the memory of an emulator, or of the race detector, cannot be told from ours; and an emulator takes long to
		// list it
		if !suite.Slow() {
			r = readResident(t)
		}
		return r
	}
	before, held := look(), heldByProject(t)
	blocked, release, ended := schedtest.NewLatch(tasks), schedtest.NewLatch(1), schedtest.NewLatch(tasks)
	for range tasks {
		require.NoError(t, s.Enqueue(sched.Task{Func: func() {
			blocked.Done()
			release.Wait()
			ended.Done()
		}}))
	}
	blocked.Wait()
	most := look()
	release.Done()
	ended.Wait()
	require.NoError(t, s.Close())
	s = nil

	const heldAtMost = 2 << 20
	var after resident
	var heldAfter int64
	gone := func() bool {
		if fiber.ReadStats() != (fiber.Stats{}) {
			return false // the others take long to find out
		}
		after = look()
		heldAfter = heldByProject(t) - held
		return heldAfter <= heldAtMost && after.ours() <= 3*before.ours()
	}
	deadline := time.Now().Add(schedtest.Standstill)
	for !gone() && time.Now().Before(deadline) {
		time.Sleep(100 * time.Millisecond)
	}
	fmt.Printf(
		"%d tasks; before %v; blocked %v; closed %v; %d bytes of Go's heap\n", tasks, before, most, after, heldAfter,
	)
	require.Equal(t, fiber.Stats{}, fiber.ReadStats())
	require.LessOrEqual(t, heldAfter, int64(heldAtMost), "bytes of Go's heap that functions of the project hold")
	if suite.Slow() {
		return
	}
	require.Less(t, most.all/3, most.all-before.all, "the tasks took memory")
	require.LessOrEqual(t, after.ours(), 3*before.ours(), "KB that are not the runtime's")
})

func TestMemoryIsGivenBack(t *testing.T) {
	if suite.AddressSanitizer {
		t.Skip("AddressSanitizer keeps what is freed for a while")
	}
	for _, b := range fiber.Backends() {
		tasks := stacktest.Held(t, suite.Scaled(8_000, 2_000))
		t.Run(b.String(), func(t *testing.T) {
			child.RunOK(t, childGivesBack, b, fmt.Sprintf("%s=%d", envTasks, tasks))
		})
	}
}
