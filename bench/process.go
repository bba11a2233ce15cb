package bench

import (
	"bufio"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a program that switches in a process of its own: one that crashes ends that process alone. It prints
// "ready", and then answers each line of its input, a number of round trips, by the nanoseconds that they took.
type Process struct {
	ctx   context.Context
	name  string        // begins the errors
	limit time.Duration // of an answer
	cmd   *exec.Cmd
	in    io.Writer
	out   *os.File
	lines *bufio.Reader // of out
	end   func() error  // kills the process if it is there, and returns how it ended
}

// OpenProcess starts a program, with an empty environment, and waits until it is ready. If it prints another line
// first, the error is the name and that line. It is killed when ctx ends, and when an answer takes longer than limit.
func OpenProcess(ctx context.Context, name string, limit time.Duration, argv ...string) (*Process, error) {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Env = []string{}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	// In a group of its own it gets no Ctrl-C, which is for the one who measures.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	started, ended := make(chan error), make(chan struct{})
	p := &Process{ctx: ctx, name: name, limit: limit, cmd: c, in: in, out: out.(*os.File), lines: bufio.NewReader(out)}
	p.end = sync.OnceValue(func() error {
		defer close(ended)
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		return c.Wait()
	})
	go func() { // the kernel ends the process if the thread that started it ends
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		started <- c.Start()
		<-ended
	}()
	if err := <-started; err != nil {
		close(ended)
		return nil, err
	}
	said, err := p.answer()
	if err == nil && said != "ready" {
		err = errors.Join(fmt.Errorf("%s %s", name, said), p.Close())
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Run makes n switches, rounded up to whole round trips. After an error the process has ended.
func (p *Process) Run(n int) (Sample, error) {
	if err := pinHere(p.cmd.Process.Pid); err != nil {
		return Sample{}, p.fault(err)
	}
	if _, err := fmt.Fprintln(p.in, trips(n)); err != nil {
		return Sample{}, p.fault(err)
	}
	said, err := p.answer()
	if err != nil {
		return Sample{}, err
	}
	took, err := strconv.ParseUint(said, 10, 62)
	if err != nil {
		return Sample{}, errors.Join(fmt.Errorf("%s has a program that printed %.100q", p.name, said), p.Close())
	}
	return Sample{2 * trips(n), time.Duration(took)}, nil
}

// answer returns the next line that the process prints.
func (p *Process) answer() (string, error) {
	if err := p.out.SetReadDeadline(time.Now().Add(p.limit)); err != nil {
		return "", p.fault(err)
	}
	line, err := p.lines.ReadString('\n')
	if err != nil {
		return "", p.fault(err)
	}
	return strings.TrimSpace(line), nil
}

// fault ends the process, which has not answered, and says what became of it.
func (p *Process) fault(err error) error {
	ended := p.end()
	exit := new(exec.ExitError)
	switch {
	case p.ctx.Err() != nil:
		return context.Cause(p.ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%s does not come back within %v", p.name, p.limit)
	case errors.As(ended, &exit) && exit.Sys().(syscall.WaitStatus).Signaled():
		return fmt.Errorf("%s crashed: its program got %s", p.name, unix.SignalName(exit.Sys().(syscall.WaitStatus).Signal()))
	}
	return fmt.Errorf("%s ended its program: %w", p.name, errors.Join(ended, err))
}

// Close ends the process.
func (p *Process) Close() error {
	_ = p.end()
	return nil
}

//go:embed programs
var programs embed.FS

// program is a mechanism in C++, a process. It is built when it is opened, so that fiberlab itself needs no C++
// compiler. By loop.h it lets its caller count what it does.
type program struct{ *Process }

// openProgram opens the program in that file: it builds and starts it. If the compiler does not find header, which the
// package of remedy has, the error is an *Absent.
func openProgram(file, header, remedy string, options ...string) func() (Session, error) {
	return func() (s Session, err error) {
		compiler := strings.Fields(cmp.Or(strings.TrimSpace(os.Getenv("CXX")), "g++"))
		compile := func(args ...string) ([]byte, error) {
			args = slices.Concat(compiler[1:], []string{"-std=c++20", "-O2"}, args)
			return exec.Command(compiler[0], args...).CombinedOutput()
		}
		if _, err := exec.LookPath(compiler[0]); err != nil {
			return nil, &Absent{"there is no C++ compiler " + compiler[0], "apt-get install g++"}
		}
		if _, err := compile("-fsyntax-only", "-include", header, "-x", "c++", os.DevNull); err != nil {
			return nil, &Absent{"the C++ compiler finds no <" + header + ">", remedy}
		}
		dir, err := os.MkdirTemp("", "fiberlab-bench-")
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		if err := os.CopyFS(dir, programs); err != nil {
			return nil, err
		}
		path := filepath.Join(dir, "program")
		args := append([]string{"-o", path, filepath.Join(dir, "programs", file)}, options...)
		if said, err := compile(args...); err != nil {
			return nil, fmt.Errorf("building %s: %w: %s", file, err, said)
		}
		argv := append(strings.Fields(os.Getenv("FIBERLAB_EXEC")), path)
		p, err := OpenProcess(context.Background(), file, 2*time.Minute, argv...)
		return program{p}, err
	}
}
