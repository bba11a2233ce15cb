package machine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// traced is a program under ptrace(2).
type traced struct {
	program *Program
	thread  *tracer
	process *os.Process
	pid     int
	memory  *memoryFile
	output  *output

	kept      breakpoints    // of Plant
	processor *processor     // the registers, if they have been read since the program stopped
	deliver   syscall.Signal // what the next resumption begins with
	stray     bool           // a SIGSTOP was sent to interrupt the program, and has not arrived
	leftover  uint64         // the signals that a wrapper has left pending, as bits: they are not the program's
	refused   *Stop          // after a refused system call
	refusal   int            // the system call that a filter killed the program for
	ended     bool           // exited or killed, and waited for
	closed    bool
}

const traceOptions = unix.PTRACE_O_EXITKILL | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACEEXIT

func startTraced(ctx context.Context, p *Program, o Options) (Machine, error) {
	ctx, cancel := context.WithTimeout(ctx, StartTimeout)
	defer cancel()
	m := &traced{program: p, thread: newTracer(), refusal: -1}
	if err := m.start(ctx, o); err != nil {
		_ = m.Close()
		return nil, fmt.Errorf("start %s: %w", p.Path, err)
	}
	return m, nil
}

// start leaves the program at its first instruction.
func (m *traced) start(ctx context.Context, o Options) error {
	if err := Traces(); err != nil {
		return err
	}
	path, err := filepath.Abs(m.program.Path)
	if err != nil {
		return err
	}
	argv := command([]string{path}, o)
	if m.output, err = outputs(o); err != nil {
		return err
	}
	m.thread.do(func() {
		m.process, err = spawn(argv, o, m.output.write, m.output.errors().write, true)
		if err == nil {
			m.pid = m.process.Pid
			err = m.untilProgram(ctx)
		}
	})
	m.output.started()
	switch {
	case m.process == nil && (errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS)):
		return noPtrace(err)
	case err != nil:
		return err
	}
	m.memory, err = openMemory(m.pid)
	return err
}

// Traces reports why this process may not control others by ptrace: ErrNoPtrace, with what to do. It is nil if the
// system refuses no request that can be tried without a child.
func Traces() error {
	if err := canTrace(); err != nil {
		return noPtrace(err)
	}
	return seesItself()
}

// seesItself is an error if /proc shows other processes than those that this one knows by the same numbers.
func seesItself() error {
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return fmt.Errorf(
			"%w: /proc does not show the processes of this namespace: mount one that does (unshare --mount-proc), or "+
				"install qemu-user",
			ErrNoPtrace,
		)
	}
	return nil
}

// canTrace is an error if the system has no ptrace(2) or refuses every request. It asks without a child: a child that
// is refused must end, which it may not do in an emulator, where it is a copy of a process with threads.
func canTrace() error {
	err := ptrace(unix.PTRACE_CONT, os.Getpid(), 0) // ESRCH where there is ptrace: a process does not trace itself
	if err == unix.ENOSYS || err == unix.EPERM {
		return err
	}
	return nil
}

// noPtrace wraps ErrNoPtrace with what to do.
func noPtrace(why error) error {
	if errors.Is(why, unix.ENOSYS) {
		return fmt.Errorf("%w: this system has none: install qemu-user, or use another system", ErrNoPtrace)
	}
	return fmt.Errorf(
		"%w: allow it (docker run --cap-add=SYS_PTRACE; elsewhere write 1 to /proc/sys/kernel/yama/ptrace_scope), or "+
			"install qemu-user",
		ErrNoPtrace,
	)
}

// untilProgram lets what was started run until it executes the program: at once, or after a wrapper has confined
// itself. A wrapper may have threads, and any of them may execute the program: so all are followed until then. If ctx
// ends first, the process is killed. It runs on the tracer's thread.
func (m *traced) untilProgram(ctx context.Context) error {
	killed := make(chan struct{})
	quiet := context.AfterFunc(ctx, func() {
		defer close(killed)
		_ = m.process.Kill()
	})
	err := m.follow()
	if !quiet() {
		<-killed
		return fmt.Errorf("the program does not begin: %w", ctx.Err())
	}
	return err
}

// follow lets all threads run until one of them has executed the program, or the process has ended.
func (m *traced) follow() error {
	seen := map[int]bool{} // the threads that have stopped before
	for {
		tid, status, err := waitForAny(m.pid)
		if err != nil {
			return fmt.Errorf("wait: %w", err)
		}
		if !status.Stopped() {
			delete(seen, tid)
			if tid == m.pid {
				m.ended = true
				return m.neverBegan(status)
			}
			continue
		}
		first := !seen[tid]
		seen[tid] = true
		if tid == m.pid && first { // the stop of the first execve, which has no event yet
			if err := ptrace(unix.PTRACE_SETOPTIONS, m.pid, traceOptions|unix.PTRACE_O_TRACECLONE); err != nil &&
				err != unix.ESRCH {
				return noPtrace(err)
			}
		}
		deliver := status.StopSignal()
		switch e := event(status); {
		case tid == m.pid && first || e == unix.PTRACE_EVENT_EXEC:
			if m.isProgram() {
				m.leftover = pendingSignals(m.pid)
				return ptrace(unix.PTRACE_SETOPTIONS, m.pid, traceOptions)
			}
			deliver = 0
		case e != 0 || first && deliver == unix.SIGSTOP: // a new thread begins with a SIGSTOP
			deliver = 0
		}
		if err := ptrace(unix.PTRACE_CONT, tid, uintptr(deliver)); err != nil && err != unix.ESRCH {
			return fmt.Errorf("continue: %w", err)
		}
	}
}

// isProgram reports whether the process executes the program now.
func (m *traced) isProgram() bool {
	want, err := os.Stat(m.program.Path)
	if err != nil {
		return false
	}
	got, err := os.Stat(fmt.Sprintf("/proc/%d/exe", m.pid))
	return err == nil && os.SameFile(want, got)
}

// pendingSignals returns the signals that wait to be handled by a process: signal n is bit n-1. It returns none if the
// system does not tell.
func pendingSignals(pid int) (pending uint64) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "SigPnd" || name == "ShdPnd" {
			bits, _ := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
			pending |= bits
		}
	}
	return pending
}

// neverBegan says why there is no program.
func (m *traced) neverBegan(status unix.WaitStatus) error {
	m.output.close()
	how := fmt.Sprintf("exit status %d", status.ExitStatus())
	if status.Signaled() {
		how = status.Signal().String()
	}
	if said := m.output.lastLine(); said != "" {
		how += ": " + said
	}
	return fmt.Errorf("what should execute it ended (%s)", how)
}

func (m *traced) Arch() *Arch { return m.program.Arch }

func (m *traced) Close() error {
	if m.closed {
		return nil
	}
	m.closed = true
	if m.process != nil {
		m.kill()
	}
	m.ended = true
	m.thread.end()
	if m.process != nil {
		_ = unix.Kill(-m.pid, unix.SIGKILL) // what the program has started; the group outlives its leader
		_ = m.process.Release()
	}
	if m.memory != nil {
		_ = m.memory.Close()
	}
	if m.output != nil {
		m.output.close()
	}
	return nil
}

// kill kills the program and waits for its end. Threads of a wrapper stop once more before they end, and the process
// ends after them.
func (m *traced) kill() {
	if m.ended {
		return
	}
	m.ended = true
	_ = m.process.Kill()
	m.thread.do(func() {
		for {
			tid, status, err := waitForAny(m.pid)
			if err != nil || tid == m.pid && !status.Stopped() {
				return
			}
			_ = ptrace(unix.PTRACE_CONT, tid, 0)
		}
	})
}

// load reads the registers, unless that has been done since the last stop.
func (m *traced) load() error {
	if m.ended {
		return ErrEnded
	}
	if m.processor != nil {
		return nil
	}
	var p processor
	var err error
	m.thread.do(func() { err = p.read(m.pid) })
	if err != nil {
		return m.gone("read registers", err)
	}
	m.processor = &p
	return nil
}

// gone explains the error of a request. ESRCH says that the program was killed from outside.
func (m *traced) gone(what string, err error) error {
	if errors.Is(err, unix.ESRCH) {
		m.kill()
		return fmt.Errorf("%s: %w", what, ErrEnded)
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (m *traced) Registers() (Registers, error) {
	if err := m.load(); err != nil {
		return Registers{}, err
	}
	r := NewRegisters(m.program.Arch)
	m.processor.values(r)
	return r, nil
}

func (m *traced) General() (Registers, error) {
	r, err := m.Registers()
	if err != nil {
		return r, err
	}
	return r.withoutFloat(), nil
}

func (m *traced) SetRegisters(r Registers) error {
	if r.arch != m.program.Arch {
		return errors.New("set registers: they are of another architecture")
	}
	if err := m.load(); err != nil {
		return err
	}
	if r.general {
		all := NewRegisters(r.arch)
		m.processor.values(all)
		r = r.With(all)
	}
	changed := *m.processor
	changed.setValues(r)
	return m.store(&changed)
}

// store writes the registers that differ from what was read.
func (m *traced) store(p *processor) error {
	var err error
	m.thread.do(func() { err = p.write(m.pid, m.processor) })
	m.processor = nil // the kernel keeps some bits to itself: read them again
	if err != nil {
		return m.gone("write registers", err)
	}
	return nil
}

func (m *traced) Read(addr uint64, into []byte) error {
	if m.ended {
		return ErrEnded
	}
	return m.memory.read(addr, into)
}

func (m *traced) Write(addr uint64, from []byte) error {
	if m.ended {
		return ErrEnded
	}
	return m.memory.write(addr, from)
}

func (m *traced) Deliver(s syscall.Signal) error {
	if m.ended {
		return ErrEnded
	}
	m.deliver = s
	return nil
}

// stopTimeout is how long a program may take to stop when it is interrupted. A program that sends itself SIGCONT may
// not stop, and is killed.
var stopTimeout = 10 * time.Second

// resume lets the program run by a request, PTRACE_SINGLESTEP or PTRACE_CONT, until it stops. If ctx ends first, the
// program is stopped, and the error is ctx.Err().
func (m *traced) resume(ctx context.Context, request int) (status unix.WaitStatus, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	var sent, killed bool // after over is closed
	stopped, over, timeout := make(chan struct{}), make(chan struct{}), stopTimeout
	quiet := context.AfterFunc(ctx, func() {
		defer close(over)
		sent = m.process.Signal(unix.SIGSTOP) == nil
		select {
		case <-stopped:
		case <-time.After(timeout):
			killed = m.process.Kill() == nil
		}
	})
	m.thread.do(func() {
		for {
			if err = ptrace(request, m.pid, uintptr(m.deliver)); err != nil && err != unix.ESRCH {
				return
			}
			m.deliver = 0
			if _, status, err = waitFor(m.pid); err != nil || !status.Stopped() {
				return
			}
			if event(status) == unix.PTRACE_EVENT_EXIT {
				m.atExit()
				request = unix.PTRACE_CONT
				continue
			}
			if status.StopSignal() == unix.SIGSTOP && m.stray {
				if ctx.Err() == nil {
					m.stray = false
					continue
				}
				return // two that are sent in a row may arrive as one: this may be that one, or another follows
			}
			if bit := uint64(1) << (status.StopSignal() - 1); m.leftover&bit != 0 && event(status) == 0 {
				m.leftover &^= bit
				continue
			}
			if status.StopSignal() != unix.SIGTRAP {
				if _, err := getSignalInfo(m.pid); err == unix.EINVAL {
					// the whole process stops because of a signal that was delivered; there is no signal to tell of
					continue
				}
			}
			return
		}
	})
	close(stopped)
	m.processor = nil
	if !quiet() {
		<-over
	}
	switch {
	case err != nil:
		return 0, m.gone("resume", err)
	case killed && status.Stopped(): // at the last moment, and it ends all the same
		m.kill()
		m.output.close()
		return 0, ctx.Err()
	case (sent || m.stray) && status.Stopped() && status.StopSignal() == unix.SIGSTOP:
		m.stray = m.stray && sent // a stray one has arrived, unless another was sent now
		return 0, ctx.Err()
	case sent && status.Signaled() && status.Signal() == unix.SIGKILL:
		m.ended = true
		m.output.close()
		return 0, ctx.Err()
	case sent:
		m.stray = true
	}
	return status, nil
}

// atExit notes, of a program that a signal ends, the system call that it was making.
func (m *traced) atExit() {
	var p processor
	how, err := getEventMessage(m.pid)
	if err == nil && unix.WaitStatus(how).Signal() == unix.SIGSYS && p.read(m.pid) == nil {
		m.refusal = p.callNumber()
	}
}

// finish makes a Stop of the end of the program.
func (m *traced) finish(status unix.WaitStatus) Stop {
	m.ended = true
	m.output.close()
	switch {
	case status.Exited():
		return Stop{Kind: Exited, Status: status.ExitStatus()}
	case status.Signal() == unix.SIGSYS && m.refusal >= 0:
		return Stop{Kind: Refused, Signal: unix.SIGSYS, Call: m.refusal}
	}
	return Stop{Kind: Killed, Signal: status.Signal()}
}

// signalled makes a Stop of a signal that has arrived.
func (m *traced) signalled(signal syscall.Signal, info signalInfo) Stop {
	stop := Stop{Kind: Signalled, Signal: signal}
	switch {
	case signal == unix.SIGSYS && info.Code == codeSeccomp:
		stop = Stop{
			Kind: Refused, Signal: signal, Address: info.Address, Call: int(info.Call),
			Narrow: info.Interface&auditArch64 == 0,
		}
		m.refused = &stop
	case signal == unix.SIGTRAP && isBreakpoint(info):
		if m.load() == nil {
			stop.Address = *m.processor.pc() - trapLength(m.program.Arch)
		}
	case info.Code > codeUser && info.Code != codeKernel:
		stop.Address = info.Address
	}
	return stop
}

// info reads what the kernel tells about the signal that stopped the program.
func (m *traced) info() (info signalInfo, err error) {
	m.thread.do(func() { info, err = getSignalInfo(m.pid) })
	if err != nil {
		return info, m.gone("read what the signal says", err)
	}
	return info, nil
}

// ready tells why the program cannot be resumed, if so.
func (m *traced) ready() (stop Stop, cannot bool, err error) {
	switch {
	case m.ended:
		return Stop{}, true, ErrEnded
	case m.refused != nil:
		return *m.refused, true, nil
	}
	return Stop{}, false, nil
}

func (m *traced) Step(ctx context.Context) (Stop, error) {
	if stop, cannot, err := m.ready(); cannot {
		return stop, err
	}
	return stepWhole(ctx, m, m.stepOnce)
}

// stepOnce runs one instruction, whose code is given, or one round of a repeated one.
func (m *traced) stepOnce(ctx context.Context, code []byte) (Stop, error) {
	delivers := m.deliver != 0
	status, err := m.resume(ctx, unix.PTRACE_SINGLESTEP)
	if err != nil {
		return Stop{}, err
	}
	if !status.Stopped() {
		return m.finish(status), nil
	}
	if event(status) == unix.PTRACE_EVENT_EXEC {
		return m.executed()
	}
	info, err := m.info()
	if err != nil {
		return Stop{}, err
	}
	signal := status.StopSignal()
	switch sent := info.Code <= codeUser && uint32(info.Address) != 0; {
	case signal != unix.SIGTRAP || sent || isBreakpoint(info):
		return m.signalled(signal, info), nil
	case delivers && info.Code == codeHandler:
		return m.stepOnce(ctx, nil) // the program stands before the handler's first instruction
	case delivers:
		return Stop{Kind: Stepped}, nil
	}
	return Stop{Kind: Stepped}, m.hideTrapFlag(code)
}

// hideTrapFlag clears, on amd64, the flag by which a processor runs single steps, where the instruction has copied it.
func (m *traced) hideTrapFlag(code []byte) error {
	const trapFlag = 1 << 8
	pushed, called := pushesFlags(m.program.Arch, code), m.program.Arch == AMD64 && IsSystemCall(AMD64, code)
	if !pushed && !called {
		return nil
	}
	r, err := m.Registers()
	if err != nil {
		return err
	}
	if called { // the instruction syscall keeps eflags in r11, unless the call was the end of a signal handler
		if flags := r.Get("r11") &^ trapFlag; flags == r.Get("eflags") {
			r.Set("r11", flags)
		}
		return m.SetRegisters(r)
	}
	var flags [2]byte
	if err := m.Read(r.SP(), flags[:]); err != nil {
		return err
	}
	flags[1] &^= trapFlag >> 8
	return m.Write(r.SP(), flags[:])
}

// executed makes a Stop of an execve: another program runs, in new memory.
func (m *traced) executed() (Stop, error) {
	_ = m.memory.Close()
	var err error
	if m.memory, err = openMemory(m.pid); err != nil {
		return Stop{}, err
	}
	return Stop{Kind: Signalled, Signal: unix.SIGTRAP}, nil
}

func (m *traced) Run(ctx context.Context, until ...uint64) (Stop, error) {
	if stop, cannot, err := m.ready(); cannot {
		return stop, err
	}
	return runUntil(ctx, m, until, m.runOn)
}

// runOn runs with breakpoints at until.
func (m *traced) runOn(ctx context.Context, until []uint64) (Stop, error) {
	planted := m.plant(until)
	status, err := m.resume(ctx, unix.PTRACE_CONT)
	if err == nil && !status.Stopped() {
		return m.finish(status), nil
	}
	if err == nil && event(status) == unix.PTRACE_EVENT_EXEC {
		return m.executed()
	}
	if restoreErr := planted.restore(m.memory); restoreErr != nil && err == nil {
		err = restoreErr
	}
	if err != nil {
		return Stop{}, err
	}
	info, err := m.info()
	if err != nil {
		return Stop{}, err
	}
	if err := m.load(); err != nil {
		return Stop{}, err
	}
	signal := status.StopSignal()
	if signal == unix.SIGTRAP && isBreakpoint(info) {
		at := *m.processor.pc() - trapLength(m.program.Arch)
		if planted.at(at) || m.kept.at(at) {
			back := *m.processor
			*back.pc() = at
			return Stop{Kind: Reached}, m.store(&back)
		}
	}
	return m.signalled(signal, info), nil
}

// Plant writes breakpoints that no Run takes away.
func (m *traced) Plant(addresses ...uint64) error {
	if m.ended {
		return ErrEnded
	}
	planted := m.plant(addresses)
	for _, address := range addresses {
		if !planted.at(address) {
			return unmapped("plant a breakpoint in", address, len(breakpoint), address)
		}
	}
	if m.kept == nil {
		m.kept = breakpoints{}
	}
	maps.Copy(m.kept, planted)
	return nil
}

// isBreakpoint reports whether a SIGTRAP comes from a breakpoint instruction.
func isBreakpoint(info signalInfo) bool {
	if Native() == AMD64 {
		return info.Code == codeKernel
	}
	return info.Code == codeBreakpoint
}

// breakpoints are the bytes in whose place breakpoint instructions stand.
type breakpoints map[uint64][]byte

// plant writes breakpoints. At an address that is not mapped none can be:
// a jump there is a fault, and runUntil knows it.
func (m *traced) plant(until []uint64) breakpoints {
	b := breakpoints{}
	for _, address := range until {
		old := make([]byte, len(breakpoint))
		if b.at(address) || m.memory.read(address, old) != nil {
			continue
		}
		if m.memory.write(address, breakpoint) == nil {
			b[address] = old
		}
	}
	return b
}

func (b breakpoints) at(address uint64) bool { return b[address] != nil }

func (b breakpoints) restore(memory *memoryFile) error {
	var all error
	for address, old := range b {
		all = errors.Join(all, memory.write(address, old))
	}
	return all
}
