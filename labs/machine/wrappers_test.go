package machine

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// wrappers are programs that do something to themselves and then execute their arguments. This test program is each of
// them, by its first argument.
var wrappers = map[string]func(argv []string) error{
	"wrap-plain":         execute,
	"wrap-threads":       fromAnotherThread,
	"wrap-threads-wait":  withThreadsThatWait,
	"wrap-threads-start": whileThreadsStart,
	"wrap-signal":        withPendingSignal,
	"wrap-fails":         func([]string) error { return fmt.Errorf("this wrapper does not execute anything") },
	"wrap-trap-getpid":   func(argv []string) error { return confined(unix.SYS_GETPID, unix.SECCOMP_RET_TRAP, argv) },
	"wrap-kill-getpid": func(argv []string) error {
		return confined(unix.SYS_GETPID, unix.SECCOMP_RET_KILL_PROCESS, argv)
	},
	"wrap-refuse-ptrace": func(argv []string) error {
		return confined(unix.SYS_PTRACE, unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM), argv)
	},
	"wrap-no-ptrace": func(argv []string) error {
		return confined(unix.SYS_PTRACE, unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS), argv)
	},
}

// wrapped is Options.Wrap for one of them.
func wrapped(name string) func([]string) []string {
	return func(argv []string) []string {
		self, err := os.Executable()
		if err != nil {
			panic(err)
		}
		return slices.Concat(emulator(), []string{self, name}, argv)
	}
}

func execute(argv []string) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	return syscall.Exec(path, argv, os.Environ())
}

// fromAnotherThread executes in a thread that is not the first, while others run.
func fromAnotherThread(argv []string) error {
	var all sync.WaitGroup
	first := unix.Gettid()
	failed := make(chan error, 8)
	all.Add(8)
	for range 8 {
		go func() {
			runtime.LockOSThread()
			all.Done()
			all.Wait()
			if tid := unix.Gettid(); tid != first && tid != os.Getpid() {
				failed <- execute(argv)
			}
			select {}
		}()
	}
	return <-failed
}

// withThreadsThatWait has threads and executes nothing. It says on its output that they are there.
func withThreadsThatWait([]string) error {
	var all sync.WaitGroup
	all.Add(4)
	for range 4 {
		go func() {
			runtime.LockOSThread()
			all.Done()
			select {}
		}()
	}
	all.Wait()
	fmt.Println("they are there")
	time.Sleep(time.Hour)
	return nil
}

// whileThreadsStart executes while other threads start others, and end.
func whileThreadsStart(argv []string) error {
	runtime.LockOSThread()
	runtime.GOMAXPROCS(16) // many threads start others at the same time
	var begun atomic.Int32
	var begin func()
	begin = func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		if begun.Add(1) < 200 {
			go begin()
		}
	}
	for range 16 {
		go begin()
	}
	for begun.Load() < 40 {
	}
	return execute(argv)
}

// withPendingSignal executes while a signal waits that a Go program sends to its own threads.
func withPendingSignal(argv []string) error {
	runtime.LockOSThread()
	var blocked unix.Sigset_t
	blocked.Val[0] = 1 << (unix.SIGURG - 1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &blocked, nil); err != nil {
		return err
	}
	if err := unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGURG); err != nil {
		return err
	}
	return execute(argv)
}

// confined executes under a filter that answers one system call.
func confined(call int, answer uint32, argv []string) error {
	runtime.LockOSThread()
	debug.SetGCPercent(-1) // a collection would have this thread ask others to stop, and call what the filter answers
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(call), Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: answer},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	if err != nil {
		return fmt.Errorf("no filter: %w", err)
	}
	return execute(argv)
}
