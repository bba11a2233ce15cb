package stack_test

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/stack"
	"fiberlab/stack/stacktest"
)

// getUntilExhausted takes stacks until the pool has none, and checks that what
// was handed out is whole and that the pool can still be used.
func getUntilExhausted(tb testing.TB, p *stack.Pool, most int, remedies ...string) []*stack.Stack {
	stacks := make([]*stack.Stack, 0, most)
	var err error
	for {
		var st *stack.Stack
		if st, err = p.Get(); err != nil {
			require.Nil(tb, st)
			break
		}
		if stacks = append(stacks, st); len(stacks) > most {
			require.Fail(tb, "no end of stacks")
		}
	}
	require.ErrorIs(tb, err, stack.ErrExhausted)
	require.ErrorIs(tb, err, unix.ENOMEM)
	for _, remedy := range remedies {
		require.ErrorContains(tb, err, remedy)
	}
	fmt.Println(len(stacks), "stacks, then:", err)
	require.Equal(tb, len(stacks), p.Stats().InUse)

	touch := newToucher(tb)
	for _, st := range stacks {
		touch.requireGuarded(tb, st)
	}
	for range 3 {
		last := stacks[len(stacks)-1]
		require.NoError(tb, p.Put(last))
		require.Same(tb, last, get(tb, p))
		touch.requireGuarded(tb, last)
	}
	return stacks
}

func maxMapCount(tb testing.TB) int {
	text, err := os.ReadFile("/proc/sys/vm/max_map_count")
	require.NoError(tb, err)
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(tb, err)
	return n
}

func init() {
	children["mappings"] = func(string) {
		tb := childTB{}
		max := maxMapCount(tb)
		if max > 1<<20 {
			tb.Skip("vm.max_map_count is too large to be used up: ", max)
		}
		p := newPool(tb, stack.Options{Guard: stack.GuardMprotect, Size: 1, MaxIdle: 10})
		stacks := getUntilExhausted(tb, p, max/2, "vm.max_map_count", "GuardMadvise")
		require.Greater(tb, len(stacks), max/2-1000)
		_, err := p.Get()
		require.ErrorIs(tb, err, stack.ErrExhausted)

		// The process can still do what takes mappings.
		var all sync.WaitGroup
		for range 20 {
			all.Add(1)
			go func() { defer all.Done(); runtime.LockOSThread(); _ = make([]byte, 1<<20) }()
		}
		all.Wait()

		// What one pool gives back another can use.
		putAll(tb, p, stacks)
		p.Trim()
		other := newPool(tb, stack.Options{Guard: stack.GuardMprotect})
		stacks = getAll(tb, other, 1000)
		putAll(tb, other, stacks)
		requireClosed(tb, other)
		requireClosed(tb, p)
		fmt.Println("ok")
	}

	children["kernel mappings"] = func(string) {
		tb := childTB{}
		runtime.KeepAlive(make([]byte, 32<<20)) // at the limit the Go heap could not grow either
		runtime.GC()
		debug.SetGCPercent(-1)
		max := maxMapCount(tb)
		if max > 1<<20 {
			tb.Skip("vm.max_map_count is too large to be used up: ", max)
		}
		// Other code uses up the mappings, but for about 400.
		page := int(pageSize)
		mem, err := unix.Mmap(-1, 0, page*2*max, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
		require.NoError(tb, err)
		others := 0
		for err == nil {
			err = unix.Mprotect(mem[2*page*others:][:page], unix.PROT_NONE)
			others++
			if others > max {
				tb.Skip("the kernel does not bound the number of mappings")
			}
		}
		require.ErrorIs(tb, err, unix.ENOMEM)
		require.NoError(tb, unix.Mprotect(mem[:page*400], unix.PROT_READ))

		p := newPool(tb, stack.Options{Guard: stack.GuardMprotect, Size: 1, MaxIdle: 10})
		stacks := getUntilExhausted(tb, p, 1000, "vm.max_map_count")
		require.Greater(tb, len(stacks), 50)
		require.NoError(tb, unix.Munmap(mem))
		more := getAll(tb, p, 1000)
		putAll(tb, p, append(stacks, more...))
		requireClosed(tb, p)
		fmt.Println("ok")
	}

	children["no addresses"] = func(string) {
		tb := childTB{}
		var old, now unix.Rlimit
		require.NoError(tb, unix.Getrlimit(unix.RLIMIT_AS, &old))
		limit := unix.Rlimit{Cur: 1, Max: old.Max}
		if err := unix.Setrlimit(unix.RLIMIT_AS, &limit); err != nil {
			tb.Skip("RLIMIT_AS cannot be set: ", err)
		}
		_, errAuto := stack.NewPool(stack.Options{})
		_, errMadvise := stack.NewPool(stack.Options{Guard: stack.GuardMadvise})
		errLimit := unix.Getrlimit(unix.RLIMIT_AS, &now)
		require.NoError(tb, unix.Setrlimit(unix.RLIMIT_AS, &old))
		require.NoError(tb, errLimit)
		if now.Cur != limit.Cur {
			tb.Skip("RLIMIT_AS cannot be set (emulated process)")
		}
		require.ErrorIs(tb, errAuto, stack.ErrExhausted)
		require.ErrorIs(tb, errMadvise, stack.ErrExhausted)

		p := newPool(tb, stack.Options{})
		fmt.Println(p.Stats().Guard)
		requireClosed(tb, p)
		fmt.Println("ok")
	}

	children["address space"] = func(arg string) {
		tb := childTB{}
		const room, reserve = 1 << 30, 256 << 20
		runtime.KeepAlive(make([]byte, 32<<20)) // so that the Go heap need not grow later
		size, err := strconv.Atoi(arg)
		require.NoError(tb, err)
		text, err := os.ReadFile("/proc/self/statm")
		require.NoError(tb, err)
		pages, err := strconv.Atoi(strings.Fields(string(text))[0])
		require.NoError(tb, err)
		var old unix.Rlimit
		require.NoError(tb, unix.Getrlimit(unix.RLIMIT_AS, &old))
		limit := unix.Rlimit{Cur: uint64(pages)*uint64(pageSize) + room, Max: old.Max}
		if err := unix.Setrlimit(unix.RLIMIT_AS, &limit); err != nil {
			tb.Skip("RLIMIT_AS cannot be set: ", err)
		}
		var now unix.Rlimit
		require.NoError(tb, unix.Getrlimit(unix.RLIMIT_AS, &now))
		if now.Cur != limit.Cur {
			tb.Skip("RLIMIT_AS cannot be set (emulated process)")
		}

		p := newPool(tb, stack.Options{Size: size})
		if size+reserve > room {
			_, err := p.Get()
			require.ErrorIs(tb, err, stack.ErrExhausted)
			require.ErrorContains(tb, err, "RLIMIT_AS")
			require.Zero(tb, p.Stats().MappedBytes)
		} else {
			stacks := getUntilExhausted(tb, p, room/size+1, "RLIMIT_AS", "vm.overcommit_memory")
			require.Greater(tb, len(stacks), (room-reserve)/size*3/4) // the runtime takes some
			require.Less(tb, len(stacks), (room-reserve)/size)
			runtime.KeepAlive(make([]byte, 4<<20)) // the Go heap can still grow
			putAll(tb, p, stacks)
		}
		require.NoError(tb, unix.Setrlimit(unix.RLIMIT_AS, &old))
		putAll(tb, p, getAll(tb, p, stacktest.Held(tb, 2*room/size+1)))
		requireClosed(tb, p)
		fmt.Println("ok")
	}
}

// The pool stops before the process has no mapping left to live on.
func TestMappingsExhausted(t *testing.T) { runChildOK(t, "mappings", "") }

// Where others used up the mappings, the kernel's refusal becomes the error.
func TestMappingsExhaustedByOthers(t *testing.T) { runChildOK(t, "kernel mappings", "") }

// raceDetector reports whether the tests are built with it.
var raceDetector bool

// Which guards work is found out once there are addresses, if there were none at first.
func TestNoAddressesForProbe(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector ends a process that has no addresses left for it")
	}
	p := newPool(t, stack.Options{})
	out, err := runChild(t, "no addresses", "")
	require.NoError(t, err, out)
	require.Equal(t, p.Stats().Guard.String()+"\nok", strings.TrimSpace(out))
}

// All the addresses a limit leaves are used, however large the next slab would
// have been.
func TestAddressSpaceExhausted(t *testing.T) {
	for _, size := range []int{64 << 10, 1 << 20, 1 << 30} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			runChildOK(t, "address space", strconv.Itoa(size))
		})
	}
}

// 200,000 stacks of 64 KB at once, each with its guard, in a handful of mappings; or as many as there are mappings for.
func TestManyStacks(t *testing.T) {
	n := stacktest.Held(t, 200_000)
	p := newPool(t, stack.Options{})
	before := len(maps(t))
	stacks := getAll(t, p, n)
	most := 200
	if p.Stats().Guard == stack.GuardMprotect {
		most += 2 * n
	}
	require.Less(t, len(maps(t))-before, most)
	require.Equal(t, n, p.Stats().InUse)
	t.Logf("%d slabs, %d mappings more", p.Stats().Slabs, len(maps(t))-before)

	touch := newToucher(t)
	seen := make(map[uintptr]bool, n)
	for _, st := range stacks {
		seen[st.Lo()] = true
		if touch.read(st.Lo()-1) != unix.EFAULT {
			require.Fail(t, "no guard")
		}
	}
	require.Len(t, seen, n)
	putAll(t, p, stacks)
	require.Equal(t, stack.DefaultMaxIdle, p.Stats().Idle)
}
