package machine

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// String says what stopped the program, as the end of a sentence about it.
func (s Stop) String() string {
	switch s.Kind {
	case Stepped:
		return "has run one instruction"
	case Reached:
		return "has reached its end"
	case Signalled:
		if s.Address != 0 {
			return fmt.Sprintf("got %s at %#x", signalName(s.Signal), s.Address)
		}
		return "got " + signalName(s.Signal)
	case Refused:
		if s.Name != "" {
			return "made the system call " + s.Name + ", which is not allowed here"
		}
		if s.Call < 0 {
			return "made a system call that is not allowed here"
		}
		if s.Narrow {
			return fmt.Sprintf(
				"made system call %d of the 32-bit interface (int $0x80), which is not allowed here", s.Call,
			)
		}
		return fmt.Sprintf("made system call %d, which is not allowed here", s.Call)
	case Exited:
		return fmt.Sprintf("exited with status %d", s.Status)
	case Killed:
		return "was ended by " + signalName(s.Signal)
	}
	return fmt.Sprintf("stopped for reason %d", s.Kind)
}

// signalName is the name as in SIGSEGV.
func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(s))
}
