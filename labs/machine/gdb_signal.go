package machine

import (
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// stubSignals are Linux's signals in the order of the numbers that the protocol of GDB gives them, from 1 on. Zero
// stands for a signal that Linux does not have.
var stubSignals = []syscall.Signal{
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGILL, unix.SIGTRAP, unix.SIGABRT, 0, unix.SIGFPE, unix.SIGKILL,
	unix.SIGBUS, unix.SIGSEGV, unix.SIGSYS, unix.SIGPIPE, unix.SIGALRM, unix.SIGTERM, unix.SIGURG, unix.SIGSTOP,
	unix.SIGTSTP, unix.SIGCONT, unix.SIGCHLD, unix.SIGTTIN, unix.SIGTTOU, unix.SIGIO, unix.SIGXCPU, unix.SIGXFSZ,
	unix.SIGVTALRM, unix.SIGPROF, unix.SIGWINCH, 0, unix.SIGUSR1, unix.SIGUSR2, unix.SIGPWR,
}

// Real-time signals have other numbers: 33 to 63 in a row, 32 and 64 apart.
const stubSignal33, stubSignal32, stubSignal64 = 45, 77, 78

// fromStub returns Linux's number of a signal, or 0.
func fromStub(number int) syscall.Signal {
	switch {
	case number >= 1 && number <= len(stubSignals):
		return stubSignals[number-1]
	case number >= stubSignal33 && number < stubSignal33+31:
		return syscall.Signal(number - stubSignal33 + 33)
	case number == stubSignal32:
		return 32
	case number == stubSignal64:
		return 64
	}
	return 0
}

// toStub returns the protocol's number of a signal, or 0.
func toStub(s syscall.Signal) int {
	switch {
	case s == 0:
		return 0
	case s == 32:
		return stubSignal32
	case s == 64:
		return stubSignal64
	case s >= 33 && s < 64:
		return stubSignal33 + int(s) - 33
	}
	return slices.Index(stubSignals, s) + 1
}

// interruptSignal is sent to a qemu to stop its program: a real-time signal, which programs hardly use. The program
// gets it, so qemu tells of it, by a number that may be another one, since qemu keeps some real-time signals to itself.
const interruptSignal = syscall.Signal(50)

// isInterrupt reports whether a signal that the program got may be interruptSignal.
func isInterrupt(s syscall.Signal) bool { return s >= 32 }
