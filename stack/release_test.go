package stack_test

import (
	"encoding/binary"
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/stack"
)

// Stacks put back beyond MaxIdle hold no memory, keep their guard, and come out
// again as zeros.
func TestPutReleasesPages(t *testing.T) {
	eachGuard(t, func(t *testing.T, kind stack.Guard) {
		p := newPool(t, stack.Options{Guard: kind, MaxIdle: -1})
		touch := newToucher(t)
		stacks := getAll(t, p, 20)
		for _, st := range stacks {
			for at := st.Lo(); at < st.Hi(); at += 512 {
				*word(at) = 1
			}
			require.Equal(t, st.Size()/int(pageSize), residentPages(t, st.Lo(), st.Hi()))
		}
		putAll(t, p, stacks[1:])
		for _, st := range stacks[1:] {
			require.Zero(t, residentPages(t, st.Lo(), st.Hi()))
		}
		seen := map[*stack.Stack]bool{stacks[0]: true}
		for range stacks[1:] {
			st := get(t, p)
			require.False(t, seen[st])
			seen[st] = true
			touch.requireGuarded(t, st)
			for at := st.Lo(); at < st.Hi(); at += 512 {
				require.Zero(t, *word(at))
			}
		}
		putAll(t, p, stacks)
	})
}

func TestTrim(t *testing.T) {
	eachGuard(t, func(t *testing.T, kind stack.Guard) {
		p := newPool(t, stack.Options{Guard: kind})
		touch := newToucher(t)
		stacks := getAll(t, p, 200)
		for _, st := range stacks {
			*word(st.Top() - 8) = 7
		}
		kept := stacks[0]
		putAll(t, p, stacks[1:])
		require.Equal(t, 199, p.Stats().Idle)
		require.Greater(t, p.Stats().Slabs, 1)

		p.Trim()
		require.Zero(t, p.Stats().Idle)
		require.Equal(t, 1, p.Stats().Slabs, "only the slab of the stack in use stays")
		require.Equal(t, uint64(7), *word(kept.Top() - 8))
		touch.requireGuarded(t, kept)
		// The neighbours of the one in use were released.
		require.Zero(t, residentPages(t, kept.Hi()+pageSize, kept.Hi()+pageSize+stack.DefaultSize))

		again := getAll(t, p, 200)
		for _, st := range again {
			touch.requireGuarded(t, st)
			require.Zero(t, *word(st.Top() - 8))
		}
		putAll(t, p, append(again, kept))
		p.Trim()
		require.Zero(t, p.Stats().MappedBytes)
	})
}

// Slabs of which nothing is held beyond the idle bound are unmapped by Put.
func TestPutUnmapsIdleSlabs(t *testing.T) {
	p := newPool(t, stack.Options{MaxIdle: 10})
	stacks := getAll(t, p, 2000)
	most := p.Stats()
	require.Greater(t, most.Slabs, 4)
	putAll(t, p, stacks)
	s := p.Stats()
	require.Equal(t, 10, s.Idle)
	require.LessOrEqual(t, s.Slabs, 2, "the slab of the idle ones and one to spare")
	require.Less(t, s.MappedBytes, most.MappedBytes)
}

// After Close the marks left in the stacks are nowhere to be found.
func TestCloseUnmaps(t *testing.T) {
	eachGuard(t, func(t *testing.T, kind stack.Guard) {
		p := newPool(t, stack.Options{Guard: kind, MaxIdle: 150})
		stacks := getAll(t, p, 300)
		for _, st := range stacks {
			*word(st.Top() - 8) = uint64(st.Lo()) | 0x5a
		}
		putAll(t, p, stacks)
		require.NoError(t, p.Close())
		requireGone(t, stacks)
	})
}

// requireGone checks that no stack holds its mark: its Lo | 0x5a below Top. The
// addresses may have been mapped again by now.
func requireGone(t *testing.T, stacks []*stack.Stack) {
	t.Helper()
	touch := newToucher(t)
	for _, st := range stacks {
		var mark [8]byte
		_, _, errno := unix.Syscall(unix.SYS_WRITE, uintptr(touch.w), st.Top()-8, 8)
		if errno == unix.EFAULT {
			continue
		}
		require.Zero(t, errno)
		_, err := unix.Read(touch.r, mark[:])
		require.NoError(t, err)
		require.NotEqual(t, st.Lo()|0x5a, uintptr(binary.NativeEndian.Uint64(mark[:])), "%v is still mapped", st)
	}
}

// Pools that come and go leave no mappings behind.
func TestNoMappingLeaks(t *testing.T) {
	eachGuard(t, func(t *testing.T, kind stack.Guard) {
		round := func() {
			p := newPool(t, stack.Options{Guard: kind, MaxIdle: 20})
			stacks := getAll(t, p, 100)
			putAll(t, p, stacks)
			stacks = getAll(t, p, 50)
			putAll(t, p, stacks)
			require.NoError(t, p.Close())
		}
		round()
		before := len(maps(t))
		const rounds = 200
		for range rounds {
			round()
		}
		// The Go runtime maps a few things, too, during the rounds.
		require.Less(t, len(maps(t)), before+rounds/2)
	})
}

// Touching the top of a stack costs one page, not a huge one.
func TestResidentMemory(t *testing.T) {
	const n = 1000
	p := newPool(t, stack.Options{MaxIdle: n})
	stacks := getAll(t, p, n)
	before := residentSet(t)
	for _, st := range stacks {
		for at := st.Top() - 2048; at < st.Top(); at += 64 {
			*word(at) = 1
		}
	}
	after := residentSet(t)
	for _, st := range stacks {
		require.Equal(t, 1, residentPages(t, st.Lo(), st.Hi()), "%v", st)
	}
	t.Logf("%d stacks: %d pages more", n, after-before)
	if after-before > 3*n {
		t.Errorf("%d stacks took %d pages", n, after-before)
	}
	putAll(t, p, stacks)
}

// residentSet returns the resident pages of the process.
func residentSet(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	require.NoError(t, err)
	return pages
}

// Slabs are closed to huge pages under every setting of the machine.
func TestNoHugePages(t *testing.T) {
	mem, err := unix.Mmap(-1, 0, int(pageSize), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(mem)) }()
	if err := unix.Madvise(mem, unix.MADV_NOHUGEPAGE); err != nil {
		t.Skip("this kernel has no huge pages: ", err)
	}
	if !hasFlag(t, uintptr(unsafe.Pointer(&mem[0])), "nh") {
		t.Skip("this kernel does not show the advice in /proc/self/smaps")
	}
	p := newPool(t, stack.Options{})
	st := get(t, p)
	require.True(t, hasFlag(t, st.Lo(), "nh"))
	require.NoError(t, p.Put(st))
}

// hasFlag reports whether the mapping around addr has a flag in its VmFlags.
func hasFlag(t *testing.T, addr uintptr, flag string) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	inside := false
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if lo, hi, ok := strings.Cut(fields[0], "-"); ok {
			inside = hexAddr(t, lo) <= addr && addr < hexAddr(t, hi)
		}
		if inside && fields[0] == "VmFlags:" {
			return strings.Contains(line+" ", " "+flag+" ")
		}
	}
	return false
}

func hexAddr(t *testing.T, s string) uintptr {
	t.Helper()
	addr, err := strconv.ParseUint(s, 16, 64)
	require.NoError(t, err)
	return uintptr(addr)
}
