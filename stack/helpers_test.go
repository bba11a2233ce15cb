package stack_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/stack"
)

var (
	pageSize   = uintptr(os.Getpagesize())
	guardKinds = []stack.Guard{stack.GuardMadvise, stack.GuardMprotect}
)

// newPool makes a pool that has to be closed cleanly, with nothing mapped, when
// the test ends.
func newPool(tb testing.TB, o stack.Options) *stack.Pool {
	tb.Helper()
	p, err := stack.NewPool(o)
	if o.Guard == stack.GuardMadvise && errors.Is(err, stack.ErrGuard) {
		tb.Skip("MADV_GUARD_INSTALL does not work on this kernel: ", err)
	}
	require.NoError(tb, err)
	tb.Cleanup(func() {
		if tb.Failed() {
			putLeft(p)
		}
		requireClosed(tb, p)
	})
	return p
}

// taken are the stacks that get has taken from each pool, some of which were put back since.
var taken struct {
	sync.Mutex
	stacks map[*stack.Pool][]*stack.Stack
}

// putLeft puts back what a test that failed still holds: other tests need the mappings.
func putLeft(p *stack.Pool) {
	taken.Lock()
	defer taken.Unlock()
	for _, st := range taken.stacks[p] {
		_ = p.Put(st)
	}
}

func requireClosed(tb testing.TB, p *stack.Pool) {
	tb.Helper()
	require.NoError(tb, p.Close())
	s := p.Stats()
	require.Zero(tb, s.MappedBytes)
	require.Zero(tb, s.Slabs)
	require.Zero(tb, s.Capacity)
	require.Zero(tb, s.InUse)
	require.Zero(tb, s.Idle)
}

// eachGuard runs a test once for each kind of guard.
func eachGuard(t *testing.T, test func(t *testing.T, kind stack.Guard)) {
	for _, kind := range guardKinds {
		t.Run(kind.String(), func(t *testing.T) { test(t, kind) })
	}
}

func get(tb testing.TB, p *stack.Pool) *stack.Stack {
	tb.Helper()
	st, err := p.Get()
	require.NoError(tb, err)
	require.NotNil(tb, st)
	taken.Lock()
	defer taken.Unlock()
	if taken.stacks == nil {
		taken.stacks = map[*stack.Pool][]*stack.Stack{}
	}
	taken.stacks[p] = append(taken.stacks[p], st)
	return st
}

func getAll(tb testing.TB, p *stack.Pool, n int) []*stack.Stack {
	tb.Helper()
	stacks := make([]*stack.Stack, n)
	for i := range stacks {
		stacks[i] = get(tb, p)
	}
	return stacks
}

func putAll(tb testing.TB, p *stack.Pool, stacks []*stack.Stack) {
	tb.Helper()
	for _, st := range stacks {
		if err := p.Put(st); err != nil {
			require.NoError(tb, err)
		}
	}
}

// word makes a pointer of an address outside Go's heap.
func word(addr uintptr) *uint64 { return *(**uint64)(unsafe.Pointer(&addr)) }

// toucher has the kernel read or write one byte anywhere: where the process may
// not, the system call fails and nothing crashes.
type toucher struct{ r, w int }

func newToucher(tb testing.TB) toucher {
	tb.Helper()
	var fd [2]int
	require.NoError(tb, unix.Pipe2(fd[:], unix.O_CLOEXEC|unix.O_NONBLOCK))
	tb.Cleanup(func() { _ = unix.Close(fd[0]); _ = unix.Close(fd[1]) })
	return toucher{fd[0], fd[1]}
}

// read reports the error of reading the byte at addr.
func (p toucher) read(addr uintptr) error {
	if _, _, errno := unix.Syscall(unix.SYS_WRITE, uintptr(p.w), addr, 1); errno != 0 {
		return errno
	}
	var b [1]byte
	_, err := unix.Read(p.r, b[:])
	return err
}

// write reports the error of writing the byte at addr. It stays as it was.
func (p toucher) write(addr uintptr) error {
	if _, _, errno := unix.Syscall(unix.SYS_WRITE, uintptr(p.w), addr, 1); errno != 0 {
		// Unreadable: something else is needed to write.
		if _, err := unix.Write(p.w, []byte{0}); err != nil {
			return err
		}
	}
	_, _, errno := unix.Syscall(unix.SYS_READ, uintptr(p.r), addr, 1)
	if errno != 0 {
		var b [1]byte
		_, _ = unix.Read(p.r, b[:])
		return errno
	}
	return nil
}

// requireGuarded checks that the guard of st cannot be touched at either end,
// and that the stack beside it can.
func (p toucher) requireGuarded(tb testing.TB, st *stack.Stack) {
	tb.Helper()
	lo, hi := st.Guard()
	for _, addr := range []uintptr{lo, hi - 1} {
		if p.read(addr) != unix.EFAULT || p.write(addr) != unix.EFAULT {
			require.Failf(tb, "no guard", "%v at %#x: read %v, write %v", st, addr, p.read(addr), p.write(addr))
		}
	}
	for _, addr := range []uintptr{st.Lo(), st.Hi() - 1} {
		if err := p.read(addr); err != nil {
			require.NoErrorf(tb, err, "%v at %#x", st, addr)
		}
	}
}

// maps returns the lines of /proc/self/maps.
func maps(tb testing.TB) []string {
	tb.Helper()
	text, err := os.ReadFile("/proc/self/maps")
	require.NoError(tb, err)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// mappingsOf counts the mappings in which stacks and their guards lie.
func mappingsOf(t *testing.T, stacks []*stack.Stack) int {
	t.Helper()
	n := 0
	for _, line := range maps(t) {
		from, to, _ := strings.Cut(strings.Fields(line)[0], "-")
		lo, hi := hexAddr(t, from), hexAddr(t, to)
		if slices.ContainsFunc(stacks, func(st *stack.Stack) bool {
			guard, _ := st.Guard()
			return guard < hi && lo < st.Hi()
		}) {
			n++
		}
	}
	return n
}

// residentPages counts the pages from lo up to hi that are in memory.
func residentPages(tb testing.TB, lo, hi uintptr) int {
	tb.Helper()
	vec := make([]byte, (hi-lo)/pageSize)
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, lo, hi-lo, uintptr(unsafe.Pointer(&vec[0])))
	require.Zero(tb, errno)
	n := 0
	for _, b := range vec {
		n += int(b & 1)
	}
	return n
}

// newRand returns a source of random numbers. The environment variable
// FIBERLAB_SEED repeats a run.
func newRand(tb testing.TB) *rand.Rand {
	tb.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("FIBERLAB_SEED"); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		require.NoError(tb, err)
	}
	tb.Logf("FIBERLAB_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// children are the programs that tests run in separate processes.
var children = map[string]func(arg string){}

const childEnv = "FIBERLAB_STACK_CHILD"

func TestMain(m *testing.M) {
	if name, arg, ok := strings.Cut(os.Getenv(childEnv), ":"); ok {
		children[name](arg)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// skipStatus is the exit status of a child whose question does not arise here.
const skipStatus = 77

// runChild runs one of children and returns what it wrote. FIBERLAB_EXEC, when
// set, is the command prefix that runs a foreign program.
func runChild(t *testing.T, name, arg string) (output string, err error) {
	t.Helper()
	require.Contains(t, children, name)
	argv := append(strings.Fields(os.Getenv("FIBERLAB_EXEC")), os.Args[0])
	cmd := exec.Command(argv[0], argv[1:]...)
	// Where addresses run short, glibc would take 64 MB of them for each thread. Where mappings do, the Go runtime
	// would end the process if it needed one to save the registers of a goroutine that it interrupts.
	cmd.Env = append(os.Environ(), childEnv+"="+name+":"+arg, "MALLOC_ARENA_MAX=1", "GODEBUG=asyncpreemptoff=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if errors.Is(err, syscall.ENOEXEC) {
		t.Skip("a foreign test binary: set FIBERLAB_EXEC to the command that runs it")
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == skipStatus {
		t.Skip(out.String())
	}
	return out.String(), err
}

// runChildOK runs a child that has to end well, saying "ok" last.
func runChildOK(t *testing.T, name, arg string) {
	t.Helper()
	out, err := runChild(t, name, arg)
	require.NoError(t, err, out)
	require.Equal(t, "ok", lastLine(out), out)
	t.Log(out)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// childTB lets helpers run in a child: a failure ends it.
type childTB struct{ testing.TB }

func (childTB) Helper()                           {}
func (childTB) Name() string                      { return "child" }
func (childTB) Cleanup(func())                    {}
func (childTB) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (childTB) FailNow()                          { os.Exit(1) }
func (childTB) Logf(format string, args ...any)   { fmt.Printf(format+"\n", args...) }
func (childTB) Skip(args ...any) {
	fmt.Println(args...)
	os.Exit(skipStatus)
}
