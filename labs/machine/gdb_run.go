package machine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// interruptTimeout bounds how long a program that was interrupted may sleep, or have of a processor, until it stops.
// Time in which it is ready, and has no processor, does not count. A program that blocks all signals does not stop, and
// is killed.
var interruptTimeout = 3 * time.Second

// resume lets the program run on, by one step or until it stops. If ctx ends first, the program is stopped, and the
// error is ctx.Err().
func (m *emulated) resume(ctx context.Context, step bool) (stopped, error) {
	if err := ctx.Err(); err != nil {
		return stopped{}, err
	}
	if m.deliver != 0 { // then no packet tells where to go on
		if err := m.bank.writeCounter(m.stub); err != nil {
			return stopped{}, err
		}
	}
	if err := m.stub.send(m.resumption(step)); err != nil {
		return stopped{}, err
	}
	m.deliver, m.bank.jumps = 0, false
	interrupted := false // to be read after over is closed
	taken, halted, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
	quiet := context.AfterFunc(ctx, func() {
		defer close(over)
		late := time.NewTicker(interruptTimeout / patience)
		defer late.Stop()
		before, waited := m.used(), time.Duration(0)
		for ready := taken; ; {
			select {
			case <-ready: // an interrupt that reaches qemu while it waits for packets ends it
				interrupted, ready = m.process.Signal(interruptSignal) == nil, nil
			case <-halted:
				return
			case <-late.C:
				now := m.used()
				if now.runs {
					waited += now.processor - before.processor
				} else {
					waited += interruptTimeout / patience
				}
				if before = now; waited >= interruptTimeout {
					_ = m.stub.connection.SetReadDeadline(time.Now())
				}
			}
		}
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
	close(halted)
	if !quiet() {
		<-over
		_ = m.stub.connection.SetReadDeadline(time.Time{})
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		_ = m.process.Kill()
		<-m.gone
		m.ended = true
		return stopped{}, ctx.Err()
	case err != nil:
		return stopped{}, err
	case (interrupted || m.stray) && stop.letter == 'T' && isInterrupt(fromStub(stop.number)):
		m.stray = m.stray && interrupted // a stray one has arrived, unless another was sent now
		return stopped{}, ctx.Err()
	case interrupted:
		m.stray = true
	}
	return stop, nil
}

// patience is how often a program that was interrupted, and sleeps, is looked at until interruptTimeout is over.
const patience = 10

// use is what qemu has had of processors, and whether it runs, or would if the system let it.
type use struct {
	processor time.Duration
	runs      bool
}

// used returns the use of qemu. Of one that has ended, it is the zero value.
func (m *emulated) used() (u use) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", m.process.Pid))
	_, rest, _ := strings.Cut(string(text), ") ") // behind the name: the state, 10 numbers, then the times
	if fields := strings.Fields(rest); len(fields) > 12 {
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		u = use{time.Duration(user+system) * time.Second / ticks, fields[0] == "R"}
	}
	return u
}

const ticks = 100 // a second, in which Linux counts these times

// resumption returns the packet that lets the program run on.
func (m *emulated) resumption(step bool) string {
	signal, from := toStub(m.deliver), ""
	if m.bank.jumps {
		from = fmt.Sprintf("%x", m.bank.value(m.program.Arch, m.bank.counter))
	}
	switch {
	case step && signal == 0:
		return "s" + from
	case step:
		return fmt.Sprintf("vCont;S%02x", signal)
	case signal == 0:
		return "c" + from
	}
	return fmt.Sprintf("C%02x", signal)
}

// ready reports why the program cannot be resumed, if so.
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
	r, err := m.General()
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
		if r, err := m.General(); err == nil && r.PC() == next {
			m.held = &stop
			return Stop{Kind: Stepped}, nil
		}
	}
	return stop, nil
}

// afterCall returns where the program continues after the system call at its program counter. This is the next
// instruction, or, after a signal handler, the place that the kernel has saved on the stack.
func (m *emulated) afterCall() (uint64, error) {
	r, err := m.General()
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
		r, err := m.General()
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
