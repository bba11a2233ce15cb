package bench

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
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
		if err != nil {
			t.Skip(err)
		}
		require.InDelta(t, want, calls, 0.1)
	}
	calls, err := systemCalls(ucontext)
	require.NoError(t, err)
	require.InDelta(t, 1, calls, 0.1)
	require.NoError(t, ucontext.Close())
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
	if err != nil {
		t.Skip(err)
	}
	require.InEpsilon(t, pages, count, 0.1)
}
