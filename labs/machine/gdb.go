package machine

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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

func startEmulated(ctx context.Context, p *Program, o Options) (Machine, error) {
	emulator := o.Emulator
	if len(emulator) == 0 {
		path, err := FindEmulator(p.Arch)
		if err != nil {
			return nil, err
		}
		emulator = []string{path}
	} else if _, err := exec.LookPath(emulator[0]); err != nil {
		return nil, fmt.Errorf("%w: %s is not on PATH", ErrNoEmulator, emulator[0])
	}
	ctx, cancel := context.WithTimeout(ctx, StartTimeout)
	defer cancel()
	m := &emulated{program: p, name: filepath.Base(emulator[0]), thread: newTracer()}
	if err := m.start(ctx, emulator, o); err != nil {
		_ = m.Close()
		return nil, fmt.Errorf("start %s in %s: %w", p.Path, m.name, err)
	}
	return m, nil
}

// FindEmulator returns the path of an architecture's qemu-user. The error wraps ErrNoEmulator and says what to install.
func FindEmulator(a *Arch) (string, error) {
	for _, name := range []string{a.Emulator, a.Emulator + "-static"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf(
		"%w for %s: %s is not on PATH: install it (on Debian and Ubuntu the package qemu-user)", ErrNoEmulator, a.Name,
		a.Emulator,
	)
}

const socketName = "fiberlab.stub"

func (m *emulated) start(ctx context.Context, emulator []string, o Options) error {
	folder, err := socketFolder()
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	path, err := filepath.Abs(m.program.Path)
	if err != nil {
		return err
	}
	socket := filepath.Join(folder, socketName)
	if m.output, err = outputs(o); err != nil {
		return err
	}
	says := m.output.errors().write
	if o.Calls != nil {
		if m.calls, err = newCallLog(o.Calls, m.output.errors()); err != nil {
			m.output.started()
			return err
		}
		says, emulator = m.calls.write, append(slices.Clone(emulator), "-strace")
	}
	argv := command(slices.Concat(emulator, []string{"-g", socket, path}), o)
	m.thread.do(func() { m.process, err = spawn(argv, o, m.output.write, says, false) })
	m.output.started()
	if m.calls != nil {
		m.calls.started()
	}
	if err != nil {
		return err
	}
	m.gone = make(chan struct{})
	go func() {
		defer close(m.gone)
		m.state, _ = m.process.Wait()
	}()
	if err := m.connect(ctx, socket); err != nil {
		return err
	}
	return m.greet(ctx)
}

// socketFolder makes a folder whose path is short enough for a socket.
func socketFolder() (string, error) {
	const longest = 107 - len("/"+socketName)
	var all error
	for _, parent := range []string{"", "/tmp", "/dev/shm"} {
		folder, err := os.MkdirTemp(parent, "fiberlab-")
		if err == nil && len(folder) <= longest {
			return folder, nil
		}
		if err == nil {
			_ = os.Remove(folder)
			err = fmt.Errorf("%s is too long a path for a socket: set TMPDIR", folder)
		}
		all = errors.Join(all, err)
	}
	return "", all
}

// connect waits for the socket of the stub.
func (m *emulated) connect(ctx context.Context, socket string) error {
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		connection, err := net.Dial("unix", socket)
		if err == nil {
			m.stub = &stub{connection: connection, reader: bufio.NewReader(connection)}
			return nil
		}
		select {
		case <-m.gone:
			return m.died()
		case <-ctx.Done():
			return fmt.Errorf("no stub answers: %w (qemu-user 5.1 or newer has the socket that is needed)", ctx.Err())
		case <-time.After(wait):
		}
	}
}

// greet asks the stub for what it can do. The program stands at its first instruction.
func (m *emulated) greet(ctx context.Context) error {
	quiet := context.AfterFunc(ctx, func() { _ = m.stub.connection.SetDeadline(time.Now()) })
	defer quiet()
	err := func() error {
		features, err := m.stub.ask("qSupported:xmlRegisters=i386;vContSupported+")
		if err != nil {
			return err
		}
		if !strings.Contains(string(features), "qXfer:features:read+") {
			return errors.New("its stub does not describe registers")
		}
		if answer, err := m.stub.ask("?"); err != nil {
			return err
		} else if _, err := parseStop(answer); err != nil {
			return err
		}
		described, err := m.stub.describe()
		if err != nil {
			return err
		}
		m.bank, err = newBank(m.program.Arch, described)
		return err
	}()
	if err != nil && !quiet() {
		return fmt.Errorf("the program does not begin: %w", ctx.Err())
	}
	if err != nil {
		return m.explain("begin", err)
	}
	return nil
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

func (m *emulated) Registers() (Registers, error) {
	if m.ended {
		return Registers{}, ErrEnded
	}
	if err := m.bank.read(m.stub); err != nil {
		return Registers{}, m.explain("read registers", err)
	}
	r := NewRegisters(m.program.Arch)
	for i := range r.values {
		r.values[i] = m.bank.value(r.arch, i)
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
	if err := m.bank.read(m.stub); err != nil {
		return m.explain("read registers", err)
	}
	if err := m.bank.write(m.stub, r.arch, r.values); err != nil {
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

// interruptTimeout bounds the time that a program takes to stop after an interrupt. A program that blocks all signals
// does not stop, and is killed.
var interruptTimeout = 3 * time.Second

// resume lets the program run on, by one step or until it stops. If ctx ends first, the program is stopped, and the
// error is ctx.Err().
func (m *emulated) resume(ctx context.Context, step bool) (stopped, error) {
	if err := ctx.Err(); err != nil {
		return stopped{}, err
	}
	if err := m.stub.send(m.resumption(step)); err != nil {
		return stopped{}, err
	}
	m.deliver = 0
	sent, taken := make(chan bool, 1), make(chan struct{})
	quiet := context.AfterFunc(ctx, func() {
		_ = m.stub.connection.SetReadDeadline(time.Now().Add(interruptTimeout))
		<-taken // an interrupt that reaches qemu while it waits for packets ends it
		sent <- m.process.Signal(interruptSignal) == nil
	})
	var stop stopped
	err := m.stub.taken()
	close(taken)
	for again := true; again && err == nil; {
		again = false
		var answer []byte
		if answer, err = m.stub.receive(); err == nil {
			stop, err = parseStop(answer)
		}
		if err == nil && m.stray && stop.letter == 'T' && isInterrupt(fromStub(stop.number)) && ctx.Err() == nil {
			// after the end of ctx it may stand for two signals, of which the other is sent now
			m.stray, again = false, true
			if err = m.stub.send(m.resumption(step)); err == nil {
				err = m.stub.taken()
			}
		}
	}
	interrupted := !quiet() && <-sent
	if interrupted {
		_ = m.stub.connection.SetReadDeadline(time.Time{})
	}
	switch {
	case interrupted && errors.Is(err, os.ErrDeadlineExceeded):
		_ = m.process.Kill()
		<-m.gone
		m.ended = true
		return stopped{}, ctx.Err()
	case err != nil:
		return stopped{}, err
	case interrupted && stop.letter == 'T' && isInterrupt(fromStub(stop.number)):
		return stopped{}, ctx.Err()
	case interrupted:
		m.stray = true
	}
	return stop, nil
}

// resumption returns the packet that lets the program run on.
func (m *emulated) resumption(step bool) string {
	signal := toStub(m.deliver)
	switch {
	case step && signal == 0:
		return "s"
	case step:
		return fmt.Sprintf("vCont;S%02x", signal)
	case signal == 0:
		return "c"
	}
	return fmt.Sprintf("C%02x", signal)
}

// ready tells why the program cannot be resumed, if so.
func (m *emulated) ready() (stop Stop, cannot bool, err error) {
	switch {
	case m.ended:
		return Stop{}, true, ErrEnded
	case m.refused != nil:
		return *m.refused, true, nil
	case m.held != nil:
		stop, m.held = *m.held, nil
		return stop, true, nil
	}
	return Stop{}, false, nil
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
	r, err := m.Registers()
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
	r, err := m.Registers()
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

func (m *emulated) Step(ctx context.Context) (Stop, error) {
	if stop, cannot, err := m.ready(); cannot {
		return stop, err
	}
	return stepWhole(ctx, m, m.stepOnce)
}

// stepOnce runs one instruction, whose code is given, or one round of a repeated one.
func (m *emulated) stepOnce(ctx context.Context, code []byte) (Stop, error) {
	if m.deliver == 0 && IsSystemCall(m.program.Arch, code) {
		return m.stepCall(ctx)
	}
	own := m.deliver == 0 && isTrap(m.program.Arch, code)
	vectors := m.deliver != 0 || touchesVectors(code)
	stop, err := m.resume(ctx, true)
	m.bank.forget(vectors)
	return m.explainStop(ctx, stop, err, func() (Stop, error) {
		if !own {
			return Stop{Kind: Stepped}, nil
		}
		return m.trapped()
	})
}

// trapped makes a Stop of a SIGTRAP that the program has got.
func (m *emulated) trapped() (Stop, error) {
	r, err := m.Registers()
	if err != nil {
		return Stop{}, err
	}
	stop := Stop{Kind: Signalled, Signal: syscall.SIGTRAP}
	if at := r.PC() - trapLength(r.arch); isTrap(r.arch, Fetch(m, at)) {
		stop.Address = at
	}
	return stop, nil
}

// stepCall runs a system call. A single step of qemu would go on to the instruction that follows, so the program runs
// to a breakpoint.
func (m *emulated) stepCall(ctx context.Context) (Stop, error) {
	next, err := m.afterCall()
	if err != nil {
		return Stop{}, err
	}
	stop, err := m.runOn(ctx, []uint64{next})
	if err != nil {
		return stop, err
	}
	switch stop.Kind {
	case Reached:
		stop.Kind = Stepped
	case Signalled: // a signal that the call has brought about: the call has ended, and the signal ends the next step
		if r, err := m.Registers(); err == nil && r.PC() == next {
			m.held = &stop
			return Stop{Kind: Stepped}, nil
		}
	}
	return stop, nil
}

// afterCall returns where the program continues after the system call at its program counter. This is the next
// instruction, or, after a signal handler, the place that the kernel has saved on the stack.
func (m *emulated) afterCall() (uint64, error) {
	r, err := m.Registers()
	if err != nil {
		return 0, err
	}
	number, sigreturn, saved, length := "rax", uint64(15), uint64(168), uint64(2)
	if r.arch == ARM64 {
		number, sigreturn, saved, length = "x8", 139, 568, 4
	}
	if r.Get(number) != sigreturn {
		return r.PC() + length, nil
	}
	var pc [8]byte
	if err := m.Read(r.SP()+saved, pc[:]); err != nil {
		return r.PC() + length, nil // the call will fail as well
	}
	return binary.LittleEndian.Uint64(pc[:]), nil
}

func (m *emulated) Run(ctx context.Context, until ...uint64) (Stop, error) {
	if stop, cannot, err := m.ready(); cannot {
		return stop, err
	}
	stop, err := runUntil(ctx, m, until, m.runOn)
	if err == nil && stop.Kind == Reached && m.calls != nil && !m.arrived {
		m.arrived = true
		m.calls.judge()
	}
	return stop, err
}

// runOn runs with breakpoints at until.
func (m *emulated) runOn(ctx context.Context, until []uint64) (Stop, error) {
	until = slices.Compact(slices.Sorted(slices.Values(until)))
	if err := m.breakpoints("Z", until); err != nil {
		return Stop{}, m.explain("set a breakpoint", err)
	}
	said, err := m.resume(ctx, false)
	m.bank.forget(true)
	stop, err := m.explainStop(ctx, said, err, func() (Stop, error) {
		r, err := m.Registers()
		if err != nil {
			return Stop{}, err
		}
		if slices.Contains(until, r.PC()) || m.kept[r.PC()] {
			return Stop{Kind: Reached}, nil
		}
		return m.trapped()
	})
	if m.ended {
		return stop, err
	}
	if clearErr := m.breakpoints("z", until); clearErr != nil && err == nil {
		err = m.explain("clear a breakpoint", clearErr)
	}
	return stop, err
}

// Plant sets breakpoints that no Run takes away.
func (m *emulated) Plant(addresses ...uint64) error {
	if m.ended {
		return ErrEnded
	}
	if err := m.breakpoints("Z", addresses); err != nil {
		return m.explain("set a breakpoint", err)
	}
	if m.kept == nil {
		m.kept = map[uint64]bool{}
	}
	for _, address := range addresses {
		m.kept[address] = true
	}
	return nil
}

// breakpoints sets (Z) or clears (z) breakpoints.
func (m *emulated) breakpoints(how string, at []uint64) error {
	var requests []string
	for _, address := range at {
		requests = append(requests, fmt.Sprintf("%s0,%x,1", how, address))
	}
	return m.stub.order(requests...)
}
