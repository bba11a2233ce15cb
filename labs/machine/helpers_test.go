package machine

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/internal/leaktest"
)

// scratch is a folder for the programs that the tests build.
var scratch string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && wrappers[os.Args[1]] != nil {
		fmt.Fprintln(os.Stderr, wrappers[os.Args[1]](os.Args[2:]))
		os.Exit(1)
	}
	folder, err := os.MkdirTemp("", "machine-test-")
	if err != nil {
		panic(err)
	}
	scratch = folder
	interruptTimeout = time.Minute // an emulator that the system does not let run is not to be killed
	code := m.Run()
	_ = os.RemoveAll(folder)
	if err := leaktest.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// way is a way to control a program.
type way struct {
	name   string
	arch   *Arch
	start  func(context.Context, *Program, Options) (Machine, error)
	ptrace bool
}

// ways are all that there are. What is missing here is named in a skipped test.
func ways(t *testing.T, test func(*testing.T, way)) {
	other := AMD64
	if Native() == AMD64 {
		other = ARM64
	}
	for _, w := range []way{
		{Native().Name + " by ptrace", Native(), startTraced, true},
		{Native().Name + " by qemu", Native(), startEmulated, false},
		{other.Name + " by qemu", other, startEmulated, false},
	} {
		t.Run(w.name, func(t *testing.T) {
			if w.ptrace {
				needPtrace(t)
			} else if _, err := FindEmulator(w.arch); err != nil {
				t.Skip(err)
			}
			test(t, w)
		})
	}
}

// needPtrace skips a test where this process may not control others.
func needPtrace(t *testing.T) {
	t.Helper()
	if err := Traces(); err != nil {
		t.Skip(err)
	}
	m, err := startTraced(t.Context(), probe(t, Native()), Options{})
	if errors.Is(err, ErrNoPtrace) {
		t.Skip(err)
	}
	require.NoError(t, err)
	require.NoError(t, m.Close())
}

var probes = map[*Arch]*Program{}

// probe is testdata/probe_ARCH.S, built.
func probe(t *testing.T, a *Arch) *Program {
	t.Helper()
	if p := probes[a]; p != nil {
		return p
	}
	source, path := "testdata/probe_"+a.Name+".S", filepath.Join(scratch, "probe_"+a.Name)
	build(t, a, path, "-nostdlib", source)
	p, err := Open(path)
	require.NoError(t, err)
	probes[a] = p
	return p
}

// build runs the compiler of an architecture.
func build(t *testing.T, a *Arch, path string, args ...string) {
	t.Helper()
	compiler := a.Triple + "-gcc"
	if _, err := exec.LookPath(compiler); err != nil {
		if a != Native() {
			t.Skipf("%s is missing: scripts/need foreign installs it", compiler)
		}
		compiler = "cc"
	}
	out, err := exec.Command(compiler, append([]string{"-g", "-static", "-no-pie", "-o", path}, args...)...).
		CombinedOutput()
	require.NoError(t, err, string(out))
}

// bench is a probe under control.
type bench struct {
	t *testing.T
	Machine
	program *Program
	way     way
}

// begin starts the probe. It is closed at the end of the test.
func begin(t *testing.T, w way, o Options) *bench {
	t.Helper()
	p := probe(t, w.arch)
	m, err := w.start(t.Context(), p, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return &bench{t, m, p, w}
}

// at is the address of a symbol.
func (b *bench) at(name string) uint64 {
	b.t.Helper()
	s, err := b.program.Symbol(name)
	require.NoError(b.t, err)
	return s.Address
}

func (b *bench) registers() Registers {
	b.t.Helper()
	r, err := b.Registers()
	require.NoError(b.t, err)
	return r
}

// set changes registers, given as names and values.
func (b *bench) set(pairs ...any) {
	b.t.Helper()
	r := b.registers()
	for i := 0; i < len(pairs); i += 2 {
		r.Set(pairs[i].(string), pairs[i+1].(uint64))
	}
	require.NoError(b.t, b.SetRegisters(r))
}

// jump sets the program counter to a symbol.
func (b *bench) jump(name string) {
	b.t.Helper()
	b.set(b.Arch().PC, b.at(name))
}

func (b *bench) step() Stop {
	b.t.Helper()
	stop, err := b.Step(b.t.Context())
	require.NoError(b.t, err)
	return stop
}

// run runs to one of the symbols.
func (b *bench) run(until ...string) Stop {
	b.t.Helper()
	var addresses []uint64
	for _, name := range until {
		addresses = append(addresses, b.at(name))
	}
	stop, err := b.Run(b.t.Context(), addresses...)
	require.NoError(b.t, err)
	return stop
}

// stands checks where the program stands.
func (b *bench) stands(name string) {
	b.t.Helper()
	pc := b.registers().PC()
	require.Equal(b.t, b.at(name), pc, "the program stands at %#x, not at %s", pc, name)
}

// word reads eight bytes.
func (b *bench) word(address uint64) uint64 {
	b.t.Helper()
	var bytes [8]byte
	require.NoError(b.t, b.Read(address, bytes[:]))
	return binary.LittleEndian.Uint64(bytes[:])
}

// limited is a writer that tells when it has got so many bytes.
type limited struct {
	bytes.Buffer
	want int
	full func()
}

func (l *limited) Write(p []byte) (int, error) {
	n, err := l.Buffer.Write(p)
	if l.Len() >= l.want {
		l.full()
	}
	return n, err
}
