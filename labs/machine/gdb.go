package machine

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// emulated is a program in a qemu-user, controlled by its stub.
type emulated struct {
	program *Program
	name    string  // of the emulator, for messages
	thread  *tracer // that qemu dies with
	process *os.Process
	gone    chan struct{}    // closed when qemu has ended
	state   *os.ProcessState // after gone
	output  *output
	calls   *callLog // nil: calls are not judged
	stub    *stub

	bank    *bank
	kept    map[uint64]bool // breakpoints of Plant
	deliver syscall.Signal
	stray   bool  // an interruptSignal was sent and has not arrived
	held    *Stop // a signal that arrived with the end of the last step
	refused *Stop
	arrived bool // whether a Run has arrived: from then on calls are judged
	ended   bool
	closed  bool
}

// died says why there is no qemu any more.
func (m *emulated) died() error {
	<-m.gone
	m.closeOutput()
	how := "for an unknown reason"
	if m.state != nil {
		how = m.state.String()
	}
	if said := m.output.lastLine(); said != "" {
		how += ": " + said
	}
	return fmt.Errorf("%s ended (%s)", m.name, how)
}

// explain says what an error of the connection means. If qemu has closed it, qemu is ending.
func (m *emulated) explain(what string, err error) error {
	if errors.As(err, &refusal{}) {
		return fmt.Errorf("%s: %w", what, err)
	}
	m.ended = true
	if errors.Is(err, os.ErrDeadlineExceeded) {
		_ = m.process.Kill()
		return fmt.Errorf("%s: %s does not answer; it has been killed", what, m.name)
	}
	select {
	case <-m.gone:
		return fmt.Errorf("%s: %w: %w", what, ErrEnded, m.died())
	case <-time.After(StartTimeout):
		_ = m.process.Kill()
		return fmt.Errorf("%s: %w", what, err)
	}
}

func (m *emulated) Arch() *Arch { return m.program.Arch }

func (m *emulated) Close() error {
	if m.closed {
		return nil
	}
	m.closed, m.ended = true, true
	if m.process != nil {
		_ = syscall.Kill(-m.process.Pid, syscall.SIGKILL) // the group: qemu, and what its program has started
		_ = m.process.Kill()
		<-m.gone
	}
	m.thread.end()
	if m.stub != nil {
		_ = m.stub.connection.Close()
	}
	if m.output != nil {
		m.closeOutput()
	}
	return nil
}

// closeOutput waits for the last of what the program prints, and, before it, for the log of its calls.
func (m *emulated) closeOutput() {
	if m.calls != nil {
		m.calls.close()
	}
	m.output.close()
}

func (m *emulated) Registers() (Registers, error) { return m.registers(false) }

func (m *emulated) General() (Registers, error) { return m.registers(true) }

func (m *emulated) registers(general bool) (Registers, error) {
	if m.ended {
		return Registers{}, ErrEnded
	}
	if err := m.bank.read(m.stub, !general); err != nil {
		return Registers{}, m.explain("read registers", err)
	}
	r := NewRegisters(m.program.Arch)
	for i := range r.values {
		r.values[i] = m.bank.value(r.arch, i)
	}
	if general {
		r = r.withoutFloat()
	}
	return r, nil
}

func (m *emulated) SetRegisters(r Registers) error {
	if r.arch != m.program.Arch {
		return errors.New("set registers: they are of another architecture")
	}
	if m.ended {
		return ErrEnded
	}
	if err := m.bank.read(m.stub, !r.general); err != nil {
		return m.explain("read registers", err)
	}
	if err := m.bank.write(m.stub, r); err != nil {
		return m.explain("write registers", err)
	}
	return nil
}

// piece is how many bytes of memory one packet moves: qemu's packets are twice that, and a head.
const piece = 1024

// pieces cuts memory at multiples of piece, so that no part crosses pages.
func pieces(addr uint64, bytes []byte) (parts [][]byte, at []uint64) {
	for done := 0; done < len(bytes); {
		from := addr + uint64(done)
		n := min(len(bytes)-done, int(piece-from%piece))
		parts, at = append(parts, bytes[done:done+n]), append(at, from)
		done += n
	}
	return parts, at
}

func (m *emulated) Read(addr uint64, into []byte) error {
	if m.ended {
		return ErrEnded
	}
	parts, at := pieces(addr, into)
	requests := make([]string, len(parts))
	for i, part := range parts {
		requests[i] = fmt.Sprintf("m%x,%x", at[i], len(part))
	}
	answers, err := m.stub.askAll(requests)
	if err != nil {
		return m.explain("read memory", err)
	}
	for i, answer := range answers {
		if len(answer) != 2*len(parts[i]) {
			return unmapped("read", addr, len(into), at[i])
		}
		if _, err := hex.Decode(parts[i], answer); err != nil {
			return unmapped("read", addr, len(into), at[i])
		}
	}
	return nil
}

func (m *emulated) Write(addr uint64, from []byte) error {
	if m.ended {
		return ErrEnded
	}
	parts, at := pieces(addr, from)
	for i, part := range parts {
		err := m.stub.order(fmt.Sprintf("M%x,%x:%x", at[i], len(part), part))
		if errors.As(err, &refusal{}) {
			return unmapped("write", addr, len(from), at[i])
		} else if err != nil {
			return m.explain("write memory", err)
		}
	}
	return nil
}

func (m *emulated) Deliver(s syscall.Signal) error {
	if m.ended {
		return ErrEnded
	}
	m.deliver = s
	return nil
}

// explainStop makes a Stop of what the stub said after a resumption. Trap says what a SIGTRAP means here.
func (m *emulated) explainStop(ctx context.Context, s stopped, err error, trap func() (Stop, error)) (Stop, error) {
	if name := m.refusedCall(); name != "" {
		return m.refuse(name), nil
	}
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return Stop{}, err
	}
	if err != nil {
		stop, err := m.vanished(err)
		// the program stood still already
		if err == nil && stop.Kind == Killed && isInterrupt(stop.Signal) && ctx.Err() != nil {
			return Stop{}, ctx.Err()
		}
		return stop, err
	}
	signal := fromStub(s.number)
	switch {
	case s.letter == 'W':
		m.ended = true
		m.closeOutput()
		return Stop{Kind: Exited, Status: s.number}, nil
	case s.letter == 'X':
		m.ended = true
		m.closeOutput()
		return Stop{Kind: Killed, Signal: signal}, nil
	case signal == syscall.SIGTRAP:
		return trap()
	case s.letter == 'F':
		return m.refuse(semihosting), nil
	case signal == syscall.SIGSYS:
		stop := Stop{Kind: Refused, Signal: signal, Call: m.lastCall(), Name: m.lastName()}
		m.refused = &stop
		return stop, nil
	}
	return Stop{Kind: Signalled, Signal: signal, Address: m.faultAddress(signal)}, nil
}

// refusedCall returns the name of the first system call that the program may not make, or "".
func (m *emulated) refusedCall() string {
	if m.calls == nil {
		return ""
	}
	return m.calls.check()
}

// semihosting is what the processors of Arm have for programs without an operating system: a call to the debugger.
const semihosting = "semihosting"

// refuse ends a program that has made a system call which it may not make.
// What the stub has said since is not believed.
func (m *emulated) refuse(name string) Stop {
	m.ended = true
	_ = m.process.Kill()
	<-m.gone
	m.closeOutput()
	return Stop{Kind: Refused, Signal: syscall.SIGSYS, Call: -1, Name: name}
}

// lastName returns the name of the last system call, if calls are judged.
func (m *emulated) lastName() string {
	if m.calls == nil {
		return ""
	}
	return m.calls.lastCall()
}

// vanished makes a Stop of the end of the connection: the system has killed qemu, or qemu has given up.
func (m *emulated) vanished(err error) (Stop, error) {
	if errors.As(err, &refusal{}) || errors.Is(err, os.ErrDeadlineExceeded) {
		return Stop{}, m.explain("resume", err)
	}
	select {
	case <-m.gone:
	case <-time.After(StartTimeout):
		return Stop{}, m.explain("resume", err)
	}
	m.ended = true
	m.closeOutput()
	if m.state != nil {
		if status, ok := m.state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			if status.Signal() == syscall.SIGSYS {
				return Stop{Kind: Refused, Signal: syscall.SIGSYS, Call: -1, Name: m.lastName()}, nil
			}
			return Stop{Kind: Killed, Signal: status.Signal()}, nil
		}
	}
	return Stop{}, m.died()
}

// lastCall returns the system call that the program has just made, or -1. On amd64 its result replaces its number.
func (m *emulated) lastCall() int {
	r, err := m.General()
	if err != nil || m.program.Arch != ARM64 || !IsSystemCall(m.program.Arch, Fetch(m, r.PC()-4)) {
		return -1
	}
	return int(int32(r.Get("x8")))
}

// faultAddress returns the address that a fault was about, or 0. Qemu tells it only in a register of amd64.
func (m *emulated) faultAddress(signal syscall.Signal) uint64 {
	if signal != syscall.SIGSEGV && signal != syscall.SIGBUS {
		return 0
	}
	r, err := m.General()
	if err != nil {
		return 0
	}
	code := Fetch(m, r.PC())
	if code == nil { // a jump to where nothing is
		return r.PC()
	}
	if r.arch == AMD64 {
		touched, err := m.stub.value(fmt.Sprintf("p%x", m.bank.touched))
		if err != nil || len(touched) < 8 {
			return 0
		}
		return binary.LittleEndian.Uint64(touched)
	}
	address, _ := Operand(r, code)
	return address
}
