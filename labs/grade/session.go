package grade

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"fiberlab/labs/machine"
	"fiberlab/labs/record"
	"fiberlab/labs/sandbox"
)

// Session is a submission's program that stands still in the grader's hands, after the start of libc and before
// anything of the submission has run.
type Session struct {
	machine.Machine
	Program *machine.Program
	bench   *Bench
	start   machine.Registers // as the program stood when it was ready
	free    uint64            // the lowest address of lab_memory that is not in use
	end     uint64            // of lab_memory
}

// Placements is how many addresses Place has.
const Placements = 64

// placeSize is the distance between two of them, in bytes, as harness.c has it.
const placeSize = 16

// Trouble is what a submission did instead of its job: it crashed, did not come back, ended the program or made a
// system call that is not allowed. The run of items turns it into a fault.
type Trouble struct {
	What  string // "got SIGSEGV at 0x10"
	Doing string // "marl_fiber_set_target"
	Place machine.Place
	Stop  machine.Stop
}

func (t *Trouble) Error() string {
	where := ""
	if t.Place.File != "" {
		where = fmt.Sprintf(" (%s:%d)", t.Place.File, t.Place.Line)
	}
	return t.Doing + " " + t.What + where
}

// Start starts the submission and runs it until it is ready. The caller closes the session. A *Trouble says that the
// program did not get there.
func (b *Bench) Start(ctx context.Context) (*Session, error) {
	ready, err := b.Program.Symbol("lab_ready")
	if err != nil {
		return nil, err
	}
	memory, err := b.Program.Symbol("lab_memory")
	if err != nil {
		return nil, err
	}
	m, err := machine.Start(ctx, b.Program, b.Options)
	if err != nil {
		return nil, err
	}
	s := &Session{Machine: m, Program: b.Program, bench: b, free: memory.Address, end: memory.Address + memory.Size}
	stop, err := m.Run(ctx, ready.Address)
	// The runtime of the process that became this program may have asked one of
	// its threads for preemption at that moment.
	for err == nil && stop.Kind == machine.Signalled && stop.Signal == syscall.SIGURG {
		stop, err = m.Run(ctx, ready.Address)
	}
	if err == nil && stop.Kind != machine.Reached {
		err = s.trouble("the program, before main,", stop)
	}
	if err == nil {
		s.start, err = m.Registers()
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return s, nil
}

// Symbol returns the address of a symbol that the program is known to have, since the build has looked.
func (s *Session) Symbol(name string) uint64 {
	symbol, err := s.Program.Symbol(name)
	if err != nil {
		panic("grade: " + err.Error())
	}
	return symbol.Address
}

// Place returns the i-th of Placements addresses at which code can be entered that does not run: a return address, or a
// function. Run stops before it.
func (s *Session) Place(i int) uint64 {
	return s.Symbol("lab_places") + uint64(i%Placements)*placeSize
}

// Alloc returns the address of so many bytes of the program's memory, filled with random values.
// There is a megabyte a session.
func (s *Session) Alloc(size, align int) (uint64, error) {
	at := (s.free + uint64(align) - 1) &^ (uint64(align) - 1)
	if size < 0 || at+uint64(size) > s.end {
		return 0, fmt.Errorf("the harness has no %d bytes left", size)
	}
	s.free = at + uint64(size)
	return at, s.Write(at, s.bench.Bytes(size))
}

// Bytes draws so many bytes: words as Word draws them, one after the other.
func (b *Bench) Bytes(n int) []byte {
	var bytes []byte
	for len(bytes) < n {
		bytes = binary.LittleEndian.AppendUint64(bytes, b.Word())
	}
	return bytes[:n]
}

// Word reads the 8 bytes at addr.
func (s *Session) Word(addr uint64) (uint64, error) {
	var bytes [8]byte
	err := s.Read(addr, bytes[:])
	return binary.LittleEndian.Uint64(bytes[:]), err
}

// SetWord writes the 8 bytes at addr.
func (s *Session) SetWord(addr, value uint64) error {
	return s.Write(addr, binary.LittleEndian.AppendUint64(nil, value))
}

// Enter sets the registers so that the next instruction is the first of function, called with args. The caller's stack
// pointer is sp, and the return address is back: on amd64 it is pushed, on arm64 it is in x30. sp is the stack pointer
// of the caller and must be a multiple of 16. It returns the registers as they are set. There are as many args as
// registers for them, at most.
func (s *Session) Enter(regs machine.Registers, function, sp, back uint64, args ...uint64) (machine.Registers, error) {
	a := s.Arch()
	regs = regs.Clone()
	for i, arg := range args {
		regs.Set(a.Arguments[i], arg)
	}
	if a.Link == "" {
		sp -= 8
		if err := s.SetWord(sp, back); err != nil {
			return regs, err
		}
	} else {
		regs.Set(a.Link, back)
	}
	regs.Set(a.SP, sp)
	regs.Set(a.PC, function)
	return regs, s.SetRegisters(regs)
}

// Call calls the function of that name on the program's own stack and returns its result. It runs at full speed. A
// *Trouble says what happened in place of a return.
func (s *Session) Call(ctx context.Context, name string, args ...uint64) (uint64, error) {
	back := s.Symbol("lab_return")
	sp := (s.start.SP() - 512) &^ 15 // past what main may have below its stack pointer
	if _, err := s.Enter(s.start, s.Symbol(name), sp, back, args...); err != nil {
		return 0, err
	}
	if err := s.Arrive(ctx, name, back); err != nil {
		return 0, err
	}
	regs, err := s.Registers()
	if err != nil {
		return 0, err
	}
	return regs.Get(s.Arch().Result), nil
}

// Arrive runs the program, at full speed, until it is at one of the addresses in until. doing is the subject of what
// may go wrong.
func (s *Session) Arrive(ctx context.Context, doing string, until ...uint64) error {
	stop, err := s.Run(ctx, until...)
	if err != nil {
		return s.overdue(doing, err)
	}
	if stop.Kind != machine.Reached {
		return s.trouble(doing, stop)
	}
	return nil
}

// Record steps the program from where it stands until one of the addresses in until, and records what happens in the
// regions. doing is the subject of what may go wrong: "marl_fiber_swap". With a *Trouble the recording shows how it
// came to that.
func (s *Session) Record(
	ctx context.Context, doing string, regions []record.Region, until ...uint64,
) (*record.Recording, error) {
	regions = slices.Clone(regions)
	for i := range regions {
		regions[i].Initial = make([]byte, len(regions[i].Initial))
	}
	r, stop, err := record.Run(
		ctx, s.Machine, s.Program, record.Watch{Title: doing, Regions: regions, Until: until, Dir: s.bench.Dir},
	)
	var long *record.TooLongError
	switch {
	case errors.As(err, &long):
		return r, &Trouble{
			What: fmt.Sprintf("does not come to its end within %d instructions", long.Limit), Doing: doing,
			Place: lastPlace(r),
		}
	case err != nil:
		return r, s.overdue(doing, err)
	case stop.Kind != machine.Reached:
		s.bench.last = &Trouble{What: s.what(stop), Doing: doing, Place: lastPlace(r), Stop: stop}
		return r, s.bench.last
	}
	return r, nil
}

func lastPlace(r *record.Recording) machine.Place {
	if len(r.Steps) == 0 {
		return machine.Place{}
	}
	return r.Steps[len(r.Steps)-1].Place
}

// trouble describes a stop where the program should have gone on.
func (s *Session) trouble(doing string, stop machine.Stop) error {
	t := &Trouble{What: s.what(stop), Doing: doing, Stop: stop}
	if regs, err := s.Registers(); err == nil {
		at := regs.PC()
		if stop.Kind == machine.Refused {
			at-- // it stands behind the instruction that made the call
		}
		t.Place, _ = s.Program.Place(at)
	}
	s.bench.last = t
	return t
}

// what says what stopped the program, with the name of a system call that was refused.
func (s *Session) what(stop machine.Stop) string {
	if stop.Kind == machine.Refused {
		return sandbox.Refusal(s.Arch(), stop)
	}
	return stop.String()
}

// overdue turns the end of an item's time into trouble, and leaves other errors as they are.
func (s *Session) overdue(doing string, err error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	t := &Trouble{What: "does not come back", Doing: doing}
	if regs, err := s.Registers(); err == nil {
		t.Place, _ = s.Program.Place(regs.PC())
	}
	return t
}

// Word draws a value that differs from all others in all likelihood. Its upper half is not zero, and as an address it
// is one where nothing is mapped, so that a program which goes there stops there.
func (b *Bench) Word() uint64 {
	return 0x1000_0000_0000 + b.Random.Uint64N(0x5000_0000_0000)
}
