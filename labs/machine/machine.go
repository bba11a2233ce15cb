package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	_ "fiberlab/internal/platform/system" // ends a build for another system with one line
)

// Machine is a program that has been started and stands still, except within Step and Run. It has one thread. Its
// methods may be called by any goroutine, by one at a time. After Exited or Killed only Close is of use: the others
// return ErrEnded.
type Machine interface {
	// Arch returns the architecture of the program.
	Arch() *Arch
	// Registers reads all registers.
	Registers() (Registers, error)
	// General reads all registers but the floating-point ones, whose values are 0 in what it returns. On arm64 in qemu
	// these take most of the time.
	General() (Registers, error)
	// SetRegisters writes all registers. Of registers that General returned, it writes only what General reads.
	SetRegisters(Registers) error
	// Read fills into with the memory at addr. A page that is not mapped is an *UnmappedError; one without permission
	// to read is not, natively.
	Read(addr uint64, into []byte) error
	// Write writes from to the memory at addr. Memory that the program may not write is an error in qemu, not natively.
	Write(addr uint64, from []byte) error
	// Step runs one instruction, and a system call to its end. A signal that arrives ends the step before its handler
	// begins: the stop says which, and the signal is gone unless Deliver hands it on. A signal that a system call
	// brings about ends the step that follows.
	Step(context.Context) (Stop, error)
	// Run runs until the program counter is at one of until (before the instruction there), or a signal arrives, or the
	// program ends, or ctx is over. In the last case the program stands still somewhere, and the error is ctx.Err(). If
	// the program counter stands at one of until when Run begins, it goes on from there. A jump to one of until is an
	// arrival also where no memory is mapped. A program that does not stop when ctx is over is killed: in qemu a
	// program that blocks all signals, else a program that sends itself SIGCONT.
	Run(ctx context.Context, until ...uint64) (Stop, error)
	// Plant sets breakpoints that stay until the program ends. A Run arrives at each of them, as at an address of
	// until. The program counter must stand at none of them when Step or Run begins.
	Plant(addresses ...uint64) error
	// Deliver has the next Step or Run begin with that signal: a Step runs the first instruction of its handler.
	Deliver(syscall.Signal) error
	// Close kills the program and waits for its end. It may be called again.
	Close() error
}

// Stop is why a program stands still.
type Stop struct {
	Kind    Kind
	Signal  syscall.Signal // of Signalled, and of Killed
	Address uint64         // of Signalled: the memory that was touched, or the instruction, if the system tells; else 0
	Status  int            // of Exited: the exit status
	Call    int            // of Refused: the number of the system call, or -1 if it is not known
	Name    string         // of Refused: the name of the system call, if it is known
	// of Refused: whether it was made by the interface of 32 bits (int $0x80), whose numbers are others
	Narrow bool
}

// Kind is what kind of stop it was.
type Kind int

// The kinds of stops.
const (
	Stepped   Kind = iota // one instruction has run
	Reached               // the program counter is where Run was to stop
	Signalled             // a signal arrived
	// a system call that the program may not make was refused; the program cannot go on: it is the same again
	Refused
	Exited // the program has ended by exit
	Killed // a signal has ended the program
)

var (
	// ErrEnded says that the program runs no more.
	ErrEnded = errors.New("the program has ended")
	// ErrMode says that the program has left the mode of 64 bits, so that its registers cannot be told. Only Close is
	// of use then.
	ErrMode = errors.New("the program runs in another mode than that of 64 bits")
	// ErrNoPtrace says that this process may not control another one by ptrace.
	ErrNoPtrace = errors.New("ptrace is not permitted here")
	// ErrNoEmulator says that there is no qemu-user for the architecture of the program.
	ErrNoEmulator = errors.New("there is no qemu-user")
)

// Options say how a program is started.
type Options struct {
	// Emulator is the command, with its arguments, that runs a program of this architecture, as in $FIBERLAB_EXEC: a
	// qemu-user. If it is empty, a program of the native architecture is controlled by ptrace, or by qemu-user where
	// ptrace is not permitted. A program of the other architecture is controlled by qemu-user.
	Emulator []string
	// Wrap returns the command that is run instead of argv: a program that confines itself and then executes argv.
	// Nil leaves argv as it is.
	Wrap func(argv []string) []string
	// Output gets what the program prints, up to Limit bytes; nil drops it. It is written to by another
	// goroutine, which is done when the program has Exited or was Killed, or after Close.
	Output io.Writer
	// Errors gets what it prints to standard error in the same way; nil: Output gets that as well.
	Errors io.Writer
	// Limit is how many bytes of each are kept; 0: OutputLimit.
	Limit int
	// Calls are the system calls, by their names, that the program may make in an emulator once the first Run has
	// arrived; nil allows all. The first other call ends the program, and is a Stop of kind Refused. An emulator shares
	// its process with the program, which could answer in the name of its stub if it could reach the stub's socket. A
	// program under ptrace has what Wrap leaves it.
	Calls []string
	// Env is the program's environment; nil is an empty one.
	Env []string
	// Dir is the program's working directory; empty: the directory of this process.
	Dir string
}

// Controls reports why no program of that architecture can be started here without Options.Emulator, with what to do:
// ErrNoPtrace, ErrNoEmulator or both; nil if one can.
func Controls(a *Arch) error {
	var refused error
	if a == Native() {
		if refused = Traces(); refused == nil {
			return nil
		}
	}
	switch _, missing := FindEmulator(a); {
	case missing == nil:
		return nil
	case refused == nil:
		return missing
	default:
		return fmt.Errorf("%w, and %w", refused, missing)
	}
}

// OutputLimit is how much of a program's output is kept, unless Options.Limit says it.
const OutputLimit = 64 << 10

// StartTimeout is how long the start of a program, up to its first instruction, may take.
const StartTimeout = 20 * time.Second

// Start starts the program and leaves it before its first instruction. Where the system permits that, stacks and
// mappings are at the same addresses every time. ErrNoPtrace and ErrNoEmulator are wrapped in an error that says what
// to do. The caller closes the machine.
func Start(ctx context.Context, p *Program, o Options) (Machine, error) {
	if len(o.Emulator) > 0 || p.Arch != Native() {
		return startEmulated(ctx, p, o)
	}
	m, err := startTraced(ctx, p, o)
	if !errors.Is(err, ErrNoPtrace) {
		return m, err
	}
	emulated, emulatorErr := startEmulated(ctx, p, o)
	if emulatorErr == nil {
		return emulated, nil
	}
	return nil, fmt.Errorf("%w, and %w", err, emulatorErr)
}
