package machine

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tracer is the operating-system thread that controls one program:
// ptrace(2) serves only the thread that started the program.
type tracer struct {
	calls chan func()
	done  chan struct{} // one for each call, and closed when the thread is given back
	here  bool          // the caller runs on this thread: see Batch
}

func newTracer() *tracer {
	t := &tracer{calls: make(chan func()), done: make(chan struct{})}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(t.done)
		for call := range t.calls {
			call()
			t.done <- struct{}{}
		}
	}()
	return t
}

// do runs call on that thread and waits for its end.
func (t *tracer) do(call func()) {
	if t.here {
		call()
		return
	}
	t.calls <- call
	<-t.done
}

// Batch runs calls, which makes many calls of m and does not close it. Under ptrace(2) it runs on the thread that
// controls the program: to change threads takes longer than most calls.
func Batch(m Machine, calls func() error) (err error) {
	traced, is := m.(*traced)
	if !is {
		return calls()
	}
	traced.thread.do(func() {
		traced.thread.here = true
		defer func() { traced.thread.here = false }()
		err = calls()
	})
	return err
}

// end gives the thread back. No call follows.
func (t *tracer) end() {
	close(t.calls)
	<-t.done
}

// ptrace makes a request whose last argument is a number, on the thread of a tracer.
func ptrace(request, pid int, data uintptr) error {
	if _, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(pid), 0, data, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// ptraceAt makes a request whose last argument is a place in this process.
func ptraceAt(request, pid, address int, data unsafe.Pointer) error {
	_, _, errno := unix.RawSyscall6(
		unix.SYS_PTRACE, uintptr(request), uintptr(pid), uintptr(address), uintptr(data), 0, 0,
	)
	if errno != 0 {
		return errno
	}
	return nil
}

// getSet reads a set of registers, named by the type of its note in a core file.
func getSet[T any](pid, note int, into *T) error {
	vector := unix.Iovec{Base: (*byte)(unsafe.Pointer(into)), Len: uint64(unsafe.Sizeof(*into))}
	return ptraceAt(unix.PTRACE_GETREGSET, pid, note, unsafe.Pointer(&vector))
}

// setSet writes it.
func setSet[T any](pid, note int, from *T) error {
	vector := unix.Iovec{Base: (*byte)(unsafe.Pointer(from)), Len: uint64(unsafe.Sizeof(*from))}
	return ptraceAt(unix.PTRACE_SETREGSET, pid, note, unsafe.Pointer(&vector))
}

// signalInfo is the part of siginfo_t that is read here.
type signalInfo struct {
	Signal, Errno, Code int32
	_                   int32
	Address             uint64 // of a fault; of a signal that was sent, its low half is the sender
	Call                int32  // of SIGSYS: the system call
	Interface           uint32 // of SIGSYS: by which interface it was made, AUDIT_ARCH_*
	_                   [128 - 32]byte
}

// auditArch64 is set in signalInfo.Interface if it is an interface of 64 bits (__AUDIT_ARCH_64BIT).
const auditArch64 = 0x80000000

// The values of signalInfo.Code that are told apart.
const (
	codeUser       = 0    // SI_USER: kill(2); smaller ones: sent in other ways
	codeKernel     = 0x80 // SI_KERNEL; of SIGTRAP on amd64: int3
	codeSeccomp    = 1    // SYS_SECCOMP, of SIGSYS
	codeBreakpoint = 1    // TRAP_BRKPT, of SIGTRAP on arm64: brk
	codeHandler    = 5    // of SIGTRAP: a single step stands before the first instruction of a signal handler
)

func getSignalInfo(pid int) (signalInfo, error) {
	var info signalInfo
	err := ptraceAt(unix.PTRACE_GETSIGINFO, pid, 0, unsafe.Pointer(&info))
	return info, err
}

func getEventMessage(pid int) (uint64, error) {
	var message uint64
	err := ptraceAt(unix.PTRACE_GETEVENTMSG, pid, 0, unsafe.Pointer(&message))
	return message, err
}

// waitFor waits until a thread, or, of a negative number, any thread of a process group, has stopped or ended.
func waitFor(pid int) (tid int, status unix.WaitStatus, err error) {
	for {
		tid, err = unix.Wait4(pid, &status, unix.WALL, nil)
		if err != unix.EINTR {
			return tid, status, err
		}
	}
}

// waitForAny waits until any thread of a process, which spawn has made the first of its group, has stopped or ended. A
// process that has left its group has one thread.
func waitForAny(pid int) (tid int, status unix.WaitStatus, err error) {
	if tid, status, err = waitFor(-pid); err == unix.ECHILD {
		tid, status, err = waitFor(pid)
	}
	return tid, status, err
}

// event returns the ptrace event of a stop, or 0.
func event(status unix.WaitStatus) int { return int(status) >> 16 }
