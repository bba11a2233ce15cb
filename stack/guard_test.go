package stack_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/stack"
)

func TestEveryStackHasItsGuard(t *testing.T) {
	eachGuard(t, func(t *testing.T, kind stack.Guard) {
		p := newPool(t, stack.Options{Guard: kind, MaxIdle: 100})
		require.Equal(t, kind, p.Stats().Guard)
		touch := newToucher(t)
		for range 3 { // fresh, then idle and released ones
			stacks := getAll(t, p, 300)
			for _, st := range stacks {
				touch.requireGuarded(t, st)
			}
			putAll(t, p, stacks)
		}
	})
}

// Guards by mprotect are mappings without rights; the others leave the slab one
// mapping.
func TestGuardsInMaps(t *testing.T) {
	const n = 100
	count := func(t *testing.T, p *stack.Pool) (own int) {
		stacks := getAll(t, p, n)
		for _, line := range maps(t) {
			fields := strings.Fields(line)
			if fields[1] != "---p" {
				continue
			}
			from, to, _ := strings.Cut(fields[0], "-")
			for _, st := range stacks {
				if lo, hi := st.Guard(); hexAddr(t, from) <= lo && hi <= hexAddr(t, to) {
					own++
				}
			}
		}
		putAll(t, p, stacks)
		return own
	}
	t.Run("mprotect", func(t *testing.T) {
		require.Equal(t, n, count(t, newPool(t, stack.Options{Guard: stack.GuardMprotect})))
	})
	t.Run("madvise", func(t *testing.T) {
		require.Zero(t, count(t, newPool(t, stack.Options{Guard: stack.GuardMadvise})))
	})
}

// GuardMadvise is offered exactly where a page marked with it cannot be read,
// whatever the system call answers.
func TestProbe(t *testing.T) {
	mem, err := unix.Mmap(-1, 0, int(pageSize), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(mem)) }()
	const guardInstall = 102
	answer := unix.Madvise(mem, guardInstall)
	works := newToucher(t).read(uintptr(unsafe.Pointer(&mem[0]))) == unix.EFAULT
	t.Logf("MADV_GUARD_INSTALL: error %v, guards %v", answer, works)

	p, err := stack.NewPool(stack.Options{Guard: stack.GuardMadvise})
	if works {
		require.NoError(t, err)
		require.NoError(t, p.Close())
	} else {
		require.ErrorIs(t, err, stack.ErrGuard)
		require.ErrorContains(t, err, "6.13")
		require.ErrorContains(t, err, "use GuardAuto")
	}
	want := stack.GuardMprotect
	if works {
		want = stack.GuardMadvise
	}
	require.Equal(t, want, newPool(t, stack.Options{}).Stats().Guard)
	t.Log("found guards by", want)
	if demanded := os.Getenv("FIBERLAB_GUARDS"); demanded != "" {
		require.Equal(t, demanded, want.String(), "the environment of this test demands other guards")
	}
}

func init() {
	children["touch guard"] = func(arg string) {
		var kind stack.Guard
		var where, how string
		_, err := fmt.Sscanf(arg, "%d %s %s", &kind, &where, &how)
		require.NoError(childTB{}, err)
		p := newPool(childTB{}, stack.Options{Guard: kind})
		st := getAll(childTB{}, p, 3)[1]
		*word(st.Lo()) = 1
		lo, hi := st.Guard()
		addr := map[string]uintptr{"low": lo, "high": hi - 8}[where]
		fmt.Printf("about to touch addr=%#x\n", addr)
		switch how {
		case "read":
			fmt.Println("read", *word(addr))
		case "write":
			*word(addr) = 1
		}
		fmt.Println("survived")
	}
}

// Touching a guard ends the process, at either end, by read and by write.
func TestTouchingTheGuardIsFatal(t *testing.T) {
	eachGuard(t, func(t *testing.T, kind stack.Guard) {
		newPool(t, stack.Options{Guard: kind}) // skips if there is none of that kind
		for _, where := range []string{"low", "high"} {
			for _, how := range []string{"read", "write"} {
				out, err := runChild(t, "touch guard", fmt.Sprintf("%d %s %s", kind, where, how))
				require.Error(t, err, out)
				require.NotContains(t, out, "survived")
				_, addr, ok := strings.Cut(strings.SplitN(out, "\n", 2)[0], "about to touch ")
				require.True(t, ok, out)
				require.Contains(t, out, "SIGSEGV")
				require.Contains(t, strings.SplitN(out, "\n", 2)[1], addr)
			}
		}
	})
}

func init() {
	children["locked"] = func(string) {
		tb := childTB{}
		auto := newPool(tb, stack.Options{Guard: stack.GuardAuto, MaxIdle: -1})
		if auto.Stats().Guard != stack.GuardMadvise {
			tb.Skip("MADV_GUARD_INSTALL does not work on this kernel")
		}
		madvise := newPool(tb, stack.Options{Guard: stack.GuardMadvise})
		const mclOnFault = 4
		if err := unix.Mlockall(unix.MCL_FUTURE | mclOnFault); err != nil {
			tb.Skip("memory cannot be locked: ", err)
		}
		touch := newToucher(tb)
		for range 2 {
			stacks := getAll(tb, auto, 10)
			for _, st := range stacks {
				touch.requireGuarded(tb, st)
				*word(st.Top() - 8) = 1
			}
			putAll(tb, auto, stacks)
		}
		requireClosed(tb, auto)

		_, err := madvise.Get()
		require.ErrorIs(tb, err, stack.ErrGuard)
		require.ErrorContains(tb, err, "locked memory")
		require.Zero(tb, madvise.Stats().InUse)
		requireClosed(tb, madvise)
		fmt.Println("ok")
	}
}

// Locked memory takes no MADV_GUARD_INSTALL: GuardAuto falls back to mprotect,
// even after it chose otherwise, and GuardMadvise says why it cannot.
func TestLockedMemory(t *testing.T) { runChildOK(t, "locked", "") }
