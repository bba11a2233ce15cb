package bench

import (
	"errors"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/asm/ctest"
)

// each is a rival that does something in each operation.
func each(do func()) Session {
	return simple(func(n int) (time.Duration, error) {
		for range n {
			do()
		}
		return 0, nil
	})
}

func TestSystemCallsAreCounted(t *testing.T) {
	call := func() { unix.Getppid() }
	asked, done := make(chan int), make(chan struct{})
	go func() {
		runtime.LockOSThread() // and the thread ends with the goroutine
		for n := range asked {
			for range 2 * n {
				call()
			}
			done <- struct{}{}
		}
	}()
	defer close(asked)
	elsewhere := simple(func(n int) (time.Duration, error) {
		asked <- n
		<-done
		return 0, nil
	})
	ucontext, err := openUcontext()
	require.NoError(t, err)
	for want, s := range []Session{each(func() {}), each(call), elsewhere, each(func() { call(); call(); call() })} {
		calls, err := systemCalls(s)
		if ctest.Emulated() || errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
			t.Skip(err)
		}
		require.NoError(t, err)
		require.InDelta(t, want, calls, 0.1)
	}
	calls, err := systemCalls(ucontext)
	require.NoError(t, err)
	require.InDelta(t, 1, calls, 0.1)
	require.NoError(t, ucontext.Close())
}

// What is counted before a count fails stays. A note says from which rival on there are no figures.
func TestACountThatFailsLater(t *testing.T) {
	rival := func(name string, s Session) *series {
		return &series{Mechanism: Mechanism{Name: name}, session: s, operations: 10}
	}
	all := []*series{
		rival("a", each(func() {})), rival("b", simple(func(int) (time.Duration, error) { return 0, errors.New("broken") })),
		rival("c", each(func() {})), rival(floorName, each(func() { t.Error("the floor is no row") })),
	}
	notes := count(all)
	if all[0].calls == nil {
		t.Skip("system calls cannot be counted here: ", notes[0])
	}
	require.Contains(t, notes, "From b on, system calls are not counted: broken.")
	require.Contains(t, notes[len(notes)-1], "counted under ptrace")
	require.Nil(t, all[1].calls)
	require.Nil(t, all[2].calls)
}

// Before Linux 5.3 ptrace does not report the call that has stopped a thread. Then the count ends with an error.
func TestSystemCallsOfAnOldKernel(t *testing.T) {
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_PTRACE, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16}, // its first argument
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.PTRACE_GET_SYSCALL_INFO, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EIO)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	filter, filtered := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}, error(nil)
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // and the thread ends with the goroutine
		filtered = errors.Join(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
			unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&filter)), 0, 0))
		_, err := systemCalls(each(func() {}))
		failed <- err
	}()
	if err := <-failed; ctest.Emulated() || errors.Is(err, unix.EPERM) {
		t.Skip(err)
	} else {
		require.ErrorIs(t, err, unix.ENOSYS)
	}
	require.NoError(t, filtered)
}

// A processor's counter is read like one of the kernel's, which is on all machines: each page has its first touch.
func TestEventsAreCounted(t *testing.T) {
	faults := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_PAGE_FAULTS, Bits: instructions.Bits,
	}
	const pages = 40
	touch := each(func() {
		memory, err := unix.Mmap(-1, 0, pages*unix.Getpagesize(), unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		require.NoError(t, err)
		require.NoError(t, unix.Madvise(memory, unix.MADV_NOHUGEPAGE))
		for i := 0; i < len(memory); i += unix.Getpagesize() {
			memory[i] = 1
		}
		require.NoError(t, unix.Munmap(memory))
	})
	count, err := events(touch, faults, 200)
	for _, missing := range []error{unix.EPERM, unix.EACCES, unix.ENOSYS, unix.ENOENT, unix.ENODEV, unix.EOPNOTSUPP} {
		if errors.Is(err, missing) {
			t.Skip(err)
		}
	}
	require.NoError(t, err)
	require.InEpsilon(t, pages, count, 0.1)
}
