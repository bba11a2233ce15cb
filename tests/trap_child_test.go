package tests

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
)

// Some tests need a process of their own, because it crashes, runs out of
// something, or must be on its first thread. It is the test binary again.

// envChild names the environment variable that makes the test binary one of the
// children, and envBackend the backend that it is to use.
const (
	envChild        = "FIBERLAB_CRASH"
	envChildBackend = "FIBERLAB_CRASH_BACKEND"
)

// childPatience bounds the life of a child that hangs.
const childPatience = 3 * time.Minute

// skipStatus is the exit status of a child whose question does not arise here.
const skipStatus = 77

// A child is told its backend and ends the process by returning.
type child func(t childT, b fiber.Backend)

var children = map[string]child{}

// newChild registers a child that runs off the process's first thread, under the
// name that it returns.
func newChild(name string, run child) string {
	return newFirstThreadChild(name, func(t childT, b fiber.Backend) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			run(t, b)
		}()
		<-done
	})
}

// newFirstThreadChild is newChild for one that runs on the process's first thread.
func newFirstThreadChild(name string, run child) string {
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
	flag.BoolFunc(flagChild, "be the child that "+envChild+" names", becomeChild)
}

func becomeChild(string) error {
	name := os.Getenv(envChild)
	run, ok := children[name]
	b, err := fiber.ParseBackend(os.Getenv(envChildBackend))
	if !ok || err != nil {
		fmt.Println("no such child:", name, err)
		os.Exit(1)
	}
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	run(childT{}, b)
	fmt.Println("ok")
	os.Exit(0)
	return nil
}

// childT is the require.TestingT of a child: a failure ends the process.
type childT struct{}

func (childT) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (childT) FailNow()                          { os.Exit(1) }

// Skip ends the process: the reason becomes the test's.
func (childT) Skip(args ...any) {
	fmt.Println(args...)
	os.Exit(skipStatus)
}

// command returns a command for a program of the architecture of this one.
// FIBERLAB_EXEC, when set, is the command prefix that runs a foreign program.
func command(ctx context.Context, program ...string) *exec.Cmd {
	argv := append(strings.Fields(os.Getenv("FIBERLAB_EXEC")), program...)
	return exec.CommandContext(ctx, argv[0], argv[1:]...)
}

// runChild runs a child and returns what it wrote and how it ended. env is added
// to its environment.
func runChild(t *testing.T, name string, b fiber.Backend, env ...string) (output string, err error) {
	t.Helper()
	require.Contains(t, children, name)
	ctx, cancel := context.WithTimeout(context.Background(), childPatience)
	defer cancel()
	cmd := command(ctx, os.Args[0], "-"+flagChild)
	cmd.Env = append(os.Environ(), envChild+"="+name, envChildBackend+"="+b.String())
	if addressSanitizer {
		// Else it ends the process in its own way where Go would have made a report, and says that
		// a child has not freed what its fibers were given.
		cmd.Env = append(cmd.Env, "ASAN_OPTIONS="+os.Getenv("ASAN_OPTIONS")+":detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0")
	}
	cmd.Env = append(cmd.Env, env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
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

// runChildOK runs a child that has to end well.
func runChildOK(t *testing.T, name string, b fiber.Backend, env ...string) {
	t.Helper()
	out, err := runChild(t, name, b, env...)
	require.NoError(t, err, out)
	require.True(t, strings.HasSuffix(out, "ok\n"), out)
	t.Log(out)
}

// runChildCrash runs a child that has to die by itself, and returns what it wrote.
func runChildCrash(t *testing.T, name string, b fiber.Backend, env ...string) string {
	t.Helper()
	out, err := runChild(t, name, b, env...)
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, out)
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
