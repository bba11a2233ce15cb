// Package child runs parts of tests in separate processes, because they crash, run out of something, or must be
// on the first thread. Such a process is the test binary again.
package child

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/tests/internal/suite"
)

// envChild names the environment variable that makes the test binary one of the
// children, and envBackend the variable that names its backend.
const (
	envChild   = "FIBERLAB_CRASH"
	envBackend = "FIBERLAB_CRASH_BACKEND"
)

// Limit bounds the life of a child that hangs. It is no measure of one that works: it only ends a child that hangs.
const Limit = 10 * time.Minute

// skipStatus is the exit status of a child whose question does not arise here.
const skipStatus = 77

// Func is what a child does: it is told its backend, and ends the process, as a success, by returning.
type Func func(t T, b fiber.Backend)

var children = map[string]Func{}

// New registers a child that runs off the process's first thread, under the
// name that it returns.
func New(name string, run Func) string {
	return NewOnFirstThread(name, func(t T, b fiber.Backend) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			run(t, b)
		}()
		<-done
	})
}

// NewOnFirstThread is New for a child that runs on the process's first thread.
func NewOnFirstThread(name string, run Func) string {
	children[name] = run
	return name
}

// flagChild starts the child when it is parsed: on the main goroutine, and after
// all init functions, before which the runtime lets no fiber into Go. A goroutine
// that is locked by an init function stays on the process's first thread.
const flagChild = "fiberlab.child"

func init() {
	if os.Getenv(envChild) == "" {
		return
	}
	runtime.LockOSThread()
	flag.BoolFunc(flagChild, "be the child that "+envChild+" names", become)
}

func become(string) error {
	name := os.Getenv(envChild)
	run, ok := children[name]
	b, err := fiber.ParseBackend(os.Getenv(envBackend))
	if !ok || err != nil {
		fmt.Println("no such child:", name, err)
		os.Exit(1)
	}
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	run(T{}, b)
	fmt.Println("ok")
	os.Exit(0)
	return nil
}

// T is the require.TestingT of a child: a failure ends the process.
type T struct{}

// Errorf prints.
func (T) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// FailNow ends the process as a failure.
func (T) FailNow() { os.Exit(1) }

// Skip ends the process. Its test is skipped, for the same reason.
func (T) Skip(args ...any) {
	fmt.Println(args...)
	os.Exit(skipStatus)
}

// Command returns a command for a program of the architecture of this one.
// FIBERLAB_EXEC, when set, is the command prefix that runs a foreign program.
func Command(ctx context.Context, program ...string) *exec.Cmd {
	argv := append(strings.Fields(os.Getenv("FIBERLAB_EXEC")), program...)
	return exec.CommandContext(ctx, argv[0], argv[1:]...)
}

// envConfig tells a child the workers and the policy of its scheduler.
const envConfig = "FIBERLAB_CRASH_SCHEDULER"

// Env returns the environment variable by which a child takes cfg as its Config. The child learns the backend from
// another one.
func Env(cfg sched.Config) string {
	return fmt.Sprintf("%s=%d %v %v", envConfig, cfg.Workers, cfg.Policy, cfg.KeepThreads)
}

// Config returns, in a child of backend b, the configuration that its test has passed by Env.
func Config(t T, b fiber.Backend) sched.Config {
	fields := strings.Fields(os.Getenv(envConfig))
	require.Len(t, fields, 3, envConfig)
	workers, err := strconv.Atoi(fields[0])
	require.NoError(t, err, envConfig)
	policy, err := sched.ParsePolicy(fields[1])
	require.NoError(t, err, envConfig)
	keep, err := strconv.ParseBool(fields[2])
	require.NoError(t, err, envConfig)
	return sched.Config{Workers: workers, Backend: b, Policy: policy, KeepThreads: keep}
}

// Prepare returns the command that is a child, for callers that start it themselves: benchmarks do. A child has short
// sizes if this process has. env is added to its environment.
func Prepare(ctx context.Context, name string, b fiber.Backend, env ...string) *exec.Cmd {
	program := []string{os.Args[0]}
	if testing.Short() {
		program = append(program, "-test.short")
	}
	cmd := Command(ctx, append(program, "-"+flagChild)...)
	cmd.Env = append(os.Environ(), envChild+"="+name, envBackend+"="+b.String())
	if suite.AddressSanitizer {
		// Else it ends the process in its own way where Go would have made a report, and says that
		// a child has not freed what its fibers were given.
		cmd.Env = append(
			cmd.Env,
			"ASAN_OPTIONS="+os.Getenv(
				"ASAN_OPTIONS",
			)+":detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0",
		)
	}
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// Run runs a child and returns what it wrote and how it ended. env is added
// to its environment.
func Run(t *testing.T, name string, b fiber.Backend, env ...string) (output string, err error) {
	t.Helper()
	require.Contains(t, children, name)
	ctx, cancel := context.WithTimeout(context.Background(), limit(t))
	defer cancel()
	cmd := Prepare(ctx, name, b, env...)
	// it writes where its goroutines are, and ends
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	cmd.WaitDelay = time.Minute // or does not
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = runOne(cmd)
	if errors.Is(err, syscall.ENOEXEC) {
		t.Skip("a foreign test binary: set FIBERLAB_EXEC to the command that runs it")
	}
	require.NoError(t, ctx.Err(), "child %s hangs:\n%s", name, out.String())
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == skipStatus {
		t.Skip(strings.TrimSpace(out.String()))
	}
	return out.String(), err
}

// limit is Limit, or less, so that what a child that hangs has written is seen before the whole run is ended.
func limit(t *testing.T) time.Duration {
	if end, ok := t.Deadline(); ok {
		return min(Limit, time.Until(end)*9/10)
	}
	return Limit
}

// starting is held while a child starts.
var starting sync.Mutex

// runOne is cmd.Run that starts after all others have. Go forks without a copy of the memory. Of several forks at once,
// one may end the state that keeps another one from C functions. Under AddressSanitizer that one then calls them on a
// thread of its parent.
func runOne(cmd *exec.Cmd) error {
	starting.Lock()
	err := cmd.Start()
	starting.Unlock()
	if err != nil {
		return err
	}
	return cmd.Wait()
}

// RunOK runs a child that has to end well.
func RunOK(t *testing.T, name string, b fiber.Backend, env ...string) {
	t.Helper()
	out, err := Run(t, name, b, env...)
	require.NoError(t, err, out)
	require.True(t, strings.HasSuffix(out, "ok\n"), out)
	t.Log(out)
}

// RunCrash runs a child that has to die by itself, and returns what it wrote.
func RunCrash(t *testing.T, name string, b fiber.Backend, env ...string) string {
	t.Helper()
	out, err := Run(t, name, b, env...)
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "child %s was to crash, and said:\n%s", name, out)
	require.NotEqual(t, 1, exit.ExitCode(), "a check in the child failed:\n%s", out)
	require.NotContains(t, out, "ok\n")
	t.Logf("%v\n%s", err, firstLines(out, 30))
	return out
}

func firstLines(text string, n int) string {
	lines := strings.SplitAfterN(text, "\n", n+1)
	if len(lines) > n {
		lines[n] = "...\n"
	}
	return strings.Join(lines, "")
}
