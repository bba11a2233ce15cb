package uring

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// envDriver names the environment variable that says which driver Auto must take here.
const envDriver = "FIBERLAB_DRIVER"

func TestProbe(t *testing.T) {
	report := Probe()
	t.Log("probe:", report)
	if demanded := os.Getenv(envDriver); demanded != "" {
		require.Equal(t, demanded, report.Driver.String(), "the environment of this test demands another driver")
	}
	require.NotEmpty(t, report.Features)
	for _, f := range report.Features {
		t.Log(f.Name, f.Present, f.Why)
		require.NotEmpty(t, f.Why)
		require.False(t, f.Present && report.Driver == Epoll)
	}
	if report.Reason != nil {
		noRing(t, report.Reason)
		require.Equal(t, Epoll, report.Driver)
		return
	}
	require.Equal(t, Uring, report.Driver)
}

// refuse has a system call fail with errno, on the calling thread, and on threads that it starts, from now on. It
// returns false if this system has no filters for that.
func refuse(t *testing.T, call uint32, errno syscall.Errno) bool {
	// a number of a system call is looked at without its architecture: only this test's own are made
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jt: 0, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	require.NoError(t, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&filter)), 0, 0)
	runtime.KeepAlive(program)
	return err == nil
}

// Where the kernel refuses rings, or one of the calls that they need, Auto takes epoll, and the report says why. A
// program that demands the ring is told the same.
func TestKernelRefusesRings(t *testing.T) {
	for _, c := range []struct {
		name  string
		call  uint32
		errno syscall.Errno
		words string
	}{
		{"setup", unix.SYS_IO_URING_SETUP, syscall.ENOSYS, "does not know io_uring_setup"},
		{"setup", unix.SYS_IO_URING_SETUP, syscall.EPERM, "forbidden: see sysctl kernel.io_uring_disabled"},
		{"setup", unix.SYS_IO_URING_SETUP, syscall.ENOMEM, "raise ulimit -l"},
		{"enter", unix.SYS_IO_URING_ENTER, syscall.EPERM, "io_uring_enter is forbidden, though io_uring_setup is not"},
		{"enter", unix.SYS_IO_URING_ENTER, syscall.ENOSYS, "io_uring_enter is forbidden, though io_uring_setup is not"},
		{"register", unix.SYS_IO_URING_REGISTER, syscall.EPERM,
			"io_uring_register is forbidden, though io_uring_setup is not"},
	} {
		t.Run(fmt.Sprintf("%s/%v", c.name, c.errno), func(t *testing.T) {
			none := Probe().Reason != nil
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				runtime.LockOSThread() // and it ends with the goroutine
				before := openDescriptors(t)
				if !refuse(t, c.call, c.errno) {
					require.True(t, none, "there are rings, and no way to refuse them")
					return
				}
				report := Probe()
				require.Equal(t, Epoll, report.Driver)
				require.ErrorIs(t, report.Reason, ErrUnavailable)
				if !none {
					require.ErrorIs(t, report.Reason, c.errno)
					require.ErrorContains(t, report.Reason, c.words)
				}
				p, err := openProxy(Auto, 8)
				require.NoError(t, err)
				require.False(t, isRing(p))
				p.close()
				_, err = openProxy(Uring, 8)
				require.Equal(t, report.Reason, err)
				require.Equal(t, before, openDescriptors(t), "descriptors that were left open")
			}()
			<-ended
		})
	}
}

// openDescriptors is how many descriptors the process has.
func openDescriptors(t *testing.T) int {
	open, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(open)
}

// Each refusal of the kernel has words that help.
func TestExplain(t *testing.T) {
	seen := make(map[string]syscall.Errno)
	for _, errno := range []syscall.Errno{
		syscall.ENOSYS, syscall.EPERM, syscall.EOPNOTSUPP, syscall.ENOMEM, syscall.EMFILE, syscall.EINVAL,
	} {
		err := explain("io_uring_setup", errno)
		require.ErrorIs(t, err, ErrUnavailable)
		require.ErrorIs(t, err, errno)
		require.NotContains(t, seen, err.Error())
		seen[err.Error()] = errno
	}
}
