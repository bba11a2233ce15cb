package machine

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestStartStandsAtTheFirstInstruction(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		b := begin(t, w, Options{})
		b.stands("_start")
		require.Equal(t, w.arch, b.Arch())
		place, known := b.program.Place(b.registers().PC())
		require.True(t, known)
		require.Equal(t, "probe_"+w.arch.Name+".S", filepath.Base(place.File))
		require.Equal(t, Place{"testdata/probe_" + w.arch.Name + ".S", 5, "_start"}, place)
	})
}

func TestStepRunsOneInstruction(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		b := begin(t, w, Options{})
		for _, line := range []int{6, 10, 10, 10} {
			require.Equal(t, Stop{Kind: Stepped}, b.step())
			place, _ := b.program.Place(b.registers().PC())
			require.Equal(t, line, place.Line)
		}
	})
}

// A function is called by its registers, and returns to where no memory is.
func TestCall(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		const home = 0x7ff000
		b := begin(t, w, Options{})
		for range 3 {
			b.jump("add")
			b.set(w.arch.Arguments[0], uint64(40), w.arch.Arguments[1], uint64(2))
			if w.arch.Link != "" {
				b.set(w.arch.Link, uint64(home))
			} else {
				sp := b.registers().SP() - 8
				require.NoError(t, b.Write(sp, []byte{0, 0xf0, 0x7f, 0, 0, 0, 0, 0}))
				b.set(w.arch.SP, sp)
			}
			stop, err := b.Run(t.Context(), home, b.at("still"))
			require.NoError(t, err)
			require.Equal(t, Reached, stop.Kind, "%+v", stop)
			r := b.registers()
			require.Equal(t, uint64(home), r.PC())
			require.Equal(t, uint64(42), r.Get(w.arch.Result))
		}
	})
}

// Run stops before the instruction, again and again, and leaves no breakpoint behind.
func TestRunUntil(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		b := begin(t, w, Options{})
		code := make([]byte, 64)
		require.NoError(t, b.Read(b.at("_start"), code))
		for range 3 {
			require.Equal(t, Stop{Kind: Reached}, b.run("still", "leave"))
			b.stands("still")
		}
		b.jump("identity")
		require.Equal(t, Stop{Kind: Reached}, b.run("identity_call", "identity_after"))
		b.stands("identity_call")
		require.Equal(t, Stop{Kind: Reached}, b.run("identity_call", "identity_after"))
		b.stands("identity_after")
		after := make([]byte, 64)
		require.NoError(t, b.Read(b.at("_start"), after))
		require.Equal(t, code, after)
	})
}

// A system call is one step.
func TestStepOverSystemCall(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		b := begin(t, w, Options{})
		b.jump("identity")
		b.run("identity_call")
		require.True(t, IsSystemCall(w.arch, Fetch(b, b.at("identity_call"))))
		require.False(t, IsSystemCall(w.arch, Fetch(b, b.at("identity"))))
		require.Equal(t, Stop{Kind: Stepped}, b.step())
		b.stands("identity_after")
		require.Greater(t, b.registers().Get(w.arch.Result), uint64(1))
		if w.arch == AMD64 && w.ptrace {
			r := b.registers()
			require.Equal(t, r.Get("eflags"), r.Get("r11"))
		}
	})
}

// An instruction with a rep prefix is one step, however often it repeats.
func TestStepRepeated(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		if w.arch != AMD64 {
			return // it has no such instructions
		}
		b := begin(t, w, Options{})
		buffer := b.at("buffer")
		require.NoError(t, b.Write(buffer, []byte("copy me!")))
		b.jump("copy")
		b.set("rsi", buffer, "rdi", buffer+16, "rcx", uint64(8))
		require.Equal(t, Stop{Kind: Stepped}, b.step())
		b.stands("copied")
		require.Equal(t, b.word(buffer), b.word(buffer+16))

		b.jump("copy")
		b.set("rcx", uint64(0))
		require.Equal(t, Stop{Kind: Stepped}, b.step())
		b.stands("copied")
	})
}

// The flag by which a processor runs single steps does not show in flags that the program keeps.
func TestStepHidesTheTrapFlag(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		if w.arch != AMD64 {
			return // it has no such flag
		}
		b := begin(t, w, Options{})
		b.jump("flags")
		want := b.registers().Get("eflags")
		require.Equal(t, Stop{Kind: Stepped}, b.step())
		require.Equal(t, want, b.word(b.registers().SP()))
		require.Equal(t, Stop{Kind: Stepped}, b.step())
		require.Equal(t, want, b.registers().Get("rax"))
	})
}

func TestFault(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		for name, resume := range map[string]func(*bench) Stop{
			"step": (*bench).step, "run": func(b *bench) Stop { return b.run("still") },
		} {
			b := begin(t, w, Options{})
			b.jump("touch")
			b.set(w.arch.Arguments[0], uint64(0x123))
			for range 2 { // nothing has been executed: it is the same again
				stop := resume(b)
				require.Equal(t, Signalled, stop.Kind, name)
				require.Equal(t, syscall.SIGSEGV, stop.Signal, name)
				require.Equal(t, uint64(0x123), stop.Address, name)
				b.stands("touch")
			}
			b.set(w.arch.PC, uint64(0x500000)) // where nothing is
			stop := resume(b)
			require.Equal(t, Stop{Kind: Signalled, Signal: syscall.SIGSEGV, Address: 0x500000}, stop, name)
		}
	})
}

// The program's own breakpoints are signals, not steps.
func TestTrap(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		b := begin(t, w, Options{})
		want := Stop{Kind: Signalled, Signal: syscall.SIGTRAP, Address: b.at("trap")}
		b.jump("trap")
		require.Equal(t, want, b.step())
		b.jump("trap")
		require.Equal(t, want, b.run("still"))
	})
}

// A step ends before a handler begins; Deliver lets it begin; its end goes back.
func TestSignal(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		b := begin(t, w, Options{})
		b.jump("handle")
		require.Equal(t, Stop{Kind: Reached}, b.run("handled"))
		usr1 := Stop{Kind: Signalled, Signal: syscall.SIGUSR1}

		b.jump("signal_self")
		require.Equal(t, Stop{Kind: Reached}, b.run("signal_self_call"))
		require.Equal(t, Stop{Kind: Stepped}, b.step())
		b.stands("signal_self_after")
		require.Equal(t, usr1, b.step())
		b.stands("signal_self_after")
		require.Equal(t, Stop{Kind: Reached}, b.run("still"), "the signal came though it was not delivered")

		b.jump("signal_self")
		require.Equal(t, usr1, b.run("still"))
		b.stands("signal_self_after")
		require.NoError(t, b.Deliver(syscall.SIGUSR1))
		require.Equal(t, Stop{Kind: Reached}, b.run("handler"))
		require.Equal(t, Stop{Kind: Reached}, b.run("signal_self_after"))

		b.jump("signal_self")
		require.Equal(t, usr1, b.run("still"))
		before := b.registers()
		require.NoError(t, b.Deliver(syscall.SIGUSR1))
		require.Equal(t, Stop{Kind: Stepped}, b.step())
		first := b.registers().PC()
		for steps := 0; b.registers().PC() != before.PC(); steps++ {
			require.Equal(t, Stop{Kind: Stepped}, b.step())
			require.Less(t, steps, 10)
		}
		require.Greater(t, first, b.at("handler"))
		require.LessOrEqual(t, first, b.at("handler")+4)
		require.Equal(t, before, b.registers())
	})
}

func TestExit(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		for _, byStep := range []bool{true, false} {
			b := begin(t, w, Options{})
			b.jump("leave")
			b.run("leave_call")
			if byStep {
				require.Equal(t, Stop{Kind: Exited, Status: 7}, b.step())
			} else {
				require.Equal(t, Stop{Kind: Exited, Status: 7}, b.run())
			}
			b.ended()
		}
	})
}

// ended checks that only Close is of use.
func (b *bench) ended() {
	b.t.Helper()
	_, err := b.Registers()
	require.ErrorIs(b.t, err, ErrEnded)
	require.ErrorIs(b.t, b.SetRegisters(NewRegisters(b.Arch())), ErrEnded)
	require.ErrorIs(b.t, b.Read(b.at("still"), make([]byte, 4)), ErrEnded)
	require.ErrorIs(b.t, b.Write(b.at("buffer"), make([]byte, 4)), ErrEnded)
	_, err = b.Step(b.t.Context())
	require.ErrorIs(b.t, err, ErrEnded)
	_, err = b.Run(b.t.Context())
	require.ErrorIs(b.t, err, ErrEnded)
	require.NoError(b.t, b.Close())
	require.NoError(b.t, b.Close())
}

// pid is the process of a machine.
func (b *bench) pid() int {
	switch m := b.Machine.(type) {
	case *traced:
		return m.pid
	case *emulated:
		return m.process.Pid
	}
	panic("which?")
}

func TestKilledFromOutside(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		killed := Stop{Kind: Killed, Signal: syscall.SIGKILL}
		var pid atomic.Int64
		var once sync.Once
		printed := &limited{
			want: 1, full: func() { once.Do(func() { _ = syscall.Kill(int(pid.Load()), syscall.SIGKILL) }) },
		}
		b := begin(t, w, Options{Output: printed}) // while it runs, as it shows by what it prints
		pid.Store(int64(b.pid()))
		b.jump("print")
		require.Equal(t, killed, b.run())
		b.ended()

		b = begin(t, w, Options{}) // while it stands still
		require.NoError(t, syscall.Kill(b.pid(), syscall.SIGKILL))
		if stop, err := b.Step(t.Context()); err == nil {
			require.Equal(t, killed, stop)
		} else {
			require.ErrorIs(t, err, ErrEnded)
		}
		b.ended()
	})
}

// A context ends an endless loop, and the program can be used further.
func TestEndlessLoop(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		b := begin(t, w, Options{})
		b.run("still")
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			_, err := b.Run(ctx)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			b.stands("still")
			_, err = b.Step(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, Stop{Kind: Stepped}, b.step())
		}
		// The context may end at any moment of any step.
		random := rand.New(rand.NewPCG(1, 2))
		for range 50 {
			ctx, cancel := context.WithCancel(t.Context())
			timer := time.AfterFunc(time.Duration(random.IntN(200))*time.Microsecond, cancel)
			var stop Stop
			var err error
			for err == nil {
				stop, err = b.Step(ctx)
				require.Equal(t, Stepped, stop.Kind, "%+v", stop)
			}
			require.ErrorIs(t, err, context.Canceled)
			timer.Stop()
			// A context has an error for a moment before it calls what waits for its end.
			stop, err = b.Step(&barelyOver{Context: t.Context()})
			require.Equal(t, Stepped, stop.Kind, "%+v", stop)
			if err != nil {
				require.ErrorIs(t, err, context.Canceled)
			}
		}
		b.jump("identity")
		require.Equal(t, Stop{Kind: Reached}, b.run("identity_after"))
	})
}

// barelyOver has an error from the second time on that it is asked, and calls nothing.
type barelyOver struct {
	context.Context
	asked bool
}

func (c *barelyOver) Err() error {
	if c.asked {
		return context.Canceled
	}
	c.asked = true
	return nil
}

// A context ends a system call that waits, and the program can be used further:
// the call does not begin again elsewhere.
func TestEndlessCall(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		b := begin(t, w, Options{})
		for _, resume := range []func(context.Context) (Stop, error){
			b.Step, func(ctx context.Context) (Stop, error) { return b.Run(ctx, b.at("still")) },
		} {
			b.jump("wait")
			require.Equal(t, Stop{Kind: Reached}, b.run("wait_call"))
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			_, err := resume(ctx)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			b.jump("identity")
			require.Equal(t, Stop{Kind: Reached}, b.run("identity_call", "still"))
			b.stands("identity_call")
			require.Equal(t, Stop{Kind: Stepped}, b.step())
			b.stands("identity_after")
			require.Greater(t, b.registers().Get(w.arch.Result), uint64(1))
		}
	})
}

// A program that blocks all signals is stopped natively. A qemu cannot stop it, and is killed.
func TestEndlessLoopWithoutSignals(t *testing.T) {
	timeout := interruptTimeout
	defer func() { interruptTimeout = timeout }()
	interruptTimeout = 200 * time.Millisecond
	ways(t, func(t *testing.T, w way) {
		b := begin(t, w, Options{})
		b.jump("deaf")
		b.run("still")
		for tries := 0; ; tries++ {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			_, err := b.Run(ctx)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			if _, err := b.Registers(); err != nil {
				require.False(t, w.ptrace, "it was killed")
				b.ended()
				return
			}
			b.stands("still")
			if w.ptrace {
				return
			}
			// it does so if the time is over before it runs
			require.Less(t, tries, 100, "it stands still each time, though it blocks all signals")
		}
	})
}

// A SIGCONT takes back a SIGSTOP that has not arrived.
func TestEndlessContinuing(t *testing.T) {
	timeout := stopTimeout
	defer func() { stopTimeout = timeout }()
	stopTimeout = 50 * time.Millisecond
	needPtrace(t)
	w := way{Native().Name + " by ptrace", Native(), startTraced, true}
	var b *bench
	for range 300 {
		if b == nil {
			b = begin(t, w, Options{})
			b.jump("insist")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		_, err := b.Run(ctx)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		if _, err := b.Registers(); err != nil {
			b.ended()
			b = nil
		}
	}
}

// A program that is killed because it takes too long to stop has ended when that is told,
// also if it stops at that moment.
func TestEndlessStopsTooLate(t *testing.T) {
	timeout := stopTimeout
	defer func() { stopTimeout = timeout }()
	stopTimeout = 0
	needPtrace(t)
	w := way{Native().Name + " by ptrace", Native(), startTraced, true}
	for killed := 0; killed < 30; {
		b := begin(t, w, Options{})
		b.run("still")
		for {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			_, err := b.Run(ctx)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			if _, err := b.Registers(); err != nil {
				break
			}
			b.stands("still")
			require.Equal(t, Stop{Kind: Stepped}, b.step())
		}
		b.ended()
		killed++
	}
}

func TestOutput(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		printed := &limited{want: OutputLimit, full: cancel}
		b := begin(t, w, Options{Output: printed})
		b.jump("print")
		_, err := b.Run(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, b.Close())
		require.Equal(t, OutputLimit, printed.Len())
		require.True(t, strings.HasPrefix(printed.String(), "hello\nhello\n"))
	})
}

// All that is printed before the end of a program has come when Run returns.
func TestOutputBeforeExit(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		printed := &limited{want: OutputLimit}
		b := begin(t, w, Options{Output: printed})
		b.jump("print")
		require.Equal(t, Stop{Kind: Reached}, b.run("print"))
		b.jump("leave")
		require.Equal(t, Exited, b.run().Kind)
		require.Equal(t, "hello\n", printed.String())
	})
}

// What is printed to standard error is kept apart if Options.Errors is there to take it.
func TestErrorsApart(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		printed, wrong := &limited{want: OutputLimit}, &limited{want: OutputLimit}
		b := begin(t, w, Options{Output: printed, Errors: wrong})
		b.jump("print")
		require.Equal(t, Stop{Kind: Reached}, b.run("print"))
		for code := make([]byte, 4); !IsSystemCall(w.arch, code); require.NoError(t, b.Read(b.registers().PC(), code)) {
			require.Equal(t, Stop{Kind: Stepped}, b.step())
		}
		r := b.registers()
		r.Set(w.arch.Arguments[0], 2)
		require.NoError(t, b.SetRegisters(r))
		require.Equal(t, Stop{Kind: Stepped}, b.step())
		b.jump("leave")
		require.Equal(t, Exited, b.run().Kind)
		require.Equal(t, "hello\n", printed.String())
		require.Equal(t, "hello\n", wrong.String())
	})
}

// slow is a writer that takes longer over the first piece than the last of the output is waited for.
type slow struct{ bytes.Buffer }

func (s *slow) Write(p []byte) (int, error) {
	if s.Len() == 0 {
		time.Sleep(1200 * time.Millisecond)
	}
	return s.Buffer.Write(p)
}

// What a program has printed is not lost if it is read late.
func TestOutputIsReadLate(t *testing.T) {
	var got slow
	out, err := newOutput(&got, OutputLimit)
	require.NoError(t, err)
	_, err = out.write.Write(make([]byte, 20_000))
	require.NoError(t, err)
	out.close()
	require.Equal(t, 20_000, got.Len())
}

// Every register keeps what is written to it.
func TestRegisters(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		b := begin(t, w, Options{})
		b.run("still")
		for range 5 {
			r := b.registers()
			for _, name := range w.arch.Registers {
				value := random.Uint64()
				switch name {
				case w.arch.PC, "eflags":
					continue
				case "mxcsr":
					value = value&0x7f80 | 0x1f // masks, rounding and all exceptions seen
				case "x87cw":
					value = 0x37f ^ value&0xc00
				case "nzcv":
					value &= 0xf << 28
				case "fpcr":
					value &= 3 << 22
				}
				r.Set(name, value)
			}
			want := r.Clone()
			require.NoError(t, b.SetRegisters(r))
			require.Equal(t, want, b.registers(), "seed %d", seed)
			if w.arch.SP == "rsp" { // some virtual machines raise SIGSEGV at a step while it is no address
				want.Set("rsp", want.Get("rsp")&(1<<47-1))
				require.NoError(t, b.SetRegisters(want))
			}
			require.Equal(t, Stop{Kind: Stepped}, b.step()) // a jump to itself changes nothing
			require.Equal(t, want, b.registers(), "seed %d", seed)
		}
	})
}

// General lacks the registers of floating point, and SetRegisters leaves those as they are.
func TestGeneral(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		b := begin(t, w, Options{})
		b.run("still")
		want, float := b.registers(), w.arch.Control[0].Name
		want.Set(float, want.Get(float)^w.arch.Control[0].Bits&(3<<22|3<<13)) // how it rounds
		require.NoError(t, b.SetRegisters(want))
		require.Equal(t, Stop{Kind: Stepped}, b.step())
		general, err := b.General()
		require.NoError(t, err)
		require.Zero(t, general.Get(float))
		require.Equal(t, want, general.With(want))
		general.Set(w.arch.Result, 5)
		want.Set(w.arch.Result, 5)
		require.NoError(t, b.SetRegisters(general))
		require.Equal(t, Stop{Kind: Stepped}, b.step())
		require.Equal(t, want, b.registers())
	})
}

// Where SetRegisters has put the program counter, the program goes on, also into a handler and after a Run that did
// not begin.
func TestGoesOnWhereItWasPut(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		b := begin(t, w, Options{})
		b.jump("handle")
		require.Equal(t, Stop{Kind: Reached}, b.run("handled"))
		b.jump("still")
		over, end := context.WithCancel(t.Context())
		end()
		_, err := b.Run(over)
		require.ErrorIs(t, err, context.Canceled)
		b.stands("still")
		require.NoError(t, b.Deliver(syscall.SIGUSR1))
		require.Equal(t, Stop{Kind: Reached}, b.run("handler"))
		require.Equal(t, Stop{Kind: Reached}, b.run("still"))
	})
}

func TestMemory(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		b := begin(t, w, Options{})
		sp := b.registers().SP()
		stack := sp &^ 4095
		want := make([]byte, 3000)
		for i := range want {
			want[i] = byte(i * 7)
		}
		require.NoError(t, b.Write(stack-2000, want)) // over a boundary of pages
		got := make([]byte, len(want))
		require.NoError(t, b.Read(stack-2000, got))
		require.Equal(t, want, got)

		require.ErrorContains(t, b.Read(0x500000, got), "at 0x500000")
		require.ErrorContains(t, b.Read(0, got[:1]), "at 0x0")
		require.ErrorContains(t, b.Write(0x500000, got), "at 0x500000")
		require.ErrorContains(t, b.Read(1<<63+5, got), "at 0x8000000000000005")
	})
}

// A page that is not mapped is named also behind a page that is.
func TestMemoryEnds(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		b := begin(t, w, Options{})
		end := (b.at("_end") + 4095) &^ 4095 // of the data
		require.ErrorContains(t, b.Read(end-16, make([]byte, 32)), fmt.Sprintf("no memory is mapped at %#x", end))
		require.NoError(t, b.Read(end-16, make([]byte, 16)))
		require.ErrorContains(t, b.Write(end-16, make([]byte, 32)), fmt.Sprintf("%#x", end))
	})
}

// A push into a guard page is a fault at the address that it would have written.
func TestGuard(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		b := begin(t, w, Options{})
		b.jump("guard")
		require.Equal(t, Stop{Kind: Reached}, b.run("still"))
		page := b.registers().Get(w.arch.Arguments[0])
		b.jump("push")
		b.set(w.arch.SP, page+4096)
		stop := b.step()
		size := uint64(8)
		if w.arch == ARM64 {
			size = 16
		}
		require.Equal(t, Stop{Kind: Signalled, Signal: syscall.SIGSEGV, Address: page + 4096 - size}, stop)
	})
}

func TestWrapped(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		for _, name := range []string{"wrap-plain", "wrap-threads", "wrap-signal"} {
			b := begin(t, w, Options{Wrap: wrapped(name)})
			b.stands("_start")
			require.Equal(t, Stop{Kind: Stepped}, b.step())
			require.Equal(t, Stop{Kind: Reached}, b.run("still"))
			b.jump("hear") // no signal of the wrapper's comes
			require.Equal(t, Stop{Kind: Reached}, b.run("still"), name)
		}
		b := begin(
			t, w,
			Options{
				Wrap: func(argv []string) []string { return append([]string{"sh", "-c", `exec "$@"`, "sh"}, argv...) },
			},
		)
		b.stands("_start")

		_, err := w.start(t.Context(), b.program, Options{Wrap: wrapped("wrap-fails")})
		require.ErrorContains(t, err, "exit status 1")
		require.ErrorContains(t, err, "this wrapper does not execute anything")
	})
}

// A filter that refuses a system call ends the program, which is told with the call's number.
func TestRefused(t *testing.T) {
	if len(emulator()) > 0 {
		t.Skip("qemu emulates no filters of system calls")
	}
	ways(t, func(t *testing.T, w way) {
		number := map[*Arch]int{AMD64: 39, ARM64: 172}[w.arch]
		for _, name := range []string{"wrap-trap-getpid", "wrap-kill-getpid"} {
			for _, resume := range []func(*bench) Stop{(*bench).step, func(b *bench) Stop { return b.run("still") }} {
				b := begin(t, w, Options{Wrap: wrapped(name)})
				b.jump("identity")
				b.run("identity_call")
				stop := resume(b)
				require.Equal(t, Refused, stop.Kind, name)
				if w.ptrace || stop.Call != -1 { // qemu does not always tell
					require.Equal(t, number, stop.Call, name)
				}
				if name == "wrap-trap-getpid" {
					require.Equal(t, stop, b.step())
				} else {
					b.ended()
				}
			}
		}
	})
}

func TestEnvironment(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		b := begin(t, w, Options{Env: []string{"A=1", "B=2"}})
		var env []string
		at := b.registers().SP()
		require.Equal(t, uint64(1), b.word(at))
		for at += 24; b.word(at) != 0; at += 8 {
			env = append(env, b.text(b.word(at)))
		}
		slices.Sort(env)
		require.Equal(t, []string{"A=1", "B=2"}, env)
	})
}

// text reads the text at address.
func (b *bench) text(address uint64) string {
	b.t.Helper()
	var text []byte
	for {
		var c [1]byte
		require.NoError(b.t, b.Read(address, c[:]))
		if c[0] == 0 {
			return string(text)
		}
		text = append(text, c[0])
		address++
	}
}

// Programs stand at the same addresses every time.
func TestSameAddresses(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, _, errno := unix.RawSyscall(unix.SYS_PERSONALITY, keepPersonality, 0, 0)
	if errno == 0 {
		_, _, errno = unix.RawSyscall(unix.SYS_PERSONALITY, before|sameAddresses, 0, 0)
	}
	if errno != 0 {
		t.Skip("this system keeps addresses random: personality(2) is refused")
	}
	_, _, _ = unix.RawSyscall(unix.SYS_PERSONALITY, before, 0, 0)
	ways(t, func(t *testing.T, w way) {
		first := begin(t, w, Options{}).registers()
		for range 3 {
			require.Equal(t, first, begin(t, w, Options{}).registers())
		}
	})
}
