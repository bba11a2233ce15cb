// Package submission measures the swap that a student has written for lab 2 or 3, by the loops of package bench.
// The swap runs in a confined process of its own: one that crashes or does not come back ends that process.
package submission

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fiberlab/bench"
	"fiberlab/labs/check/swap"
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
	"fiberlab/labs/sandbox"
)

// Name is the name of the student's mechanism.
const Name = "yours"

// answerTime is how long the start and the check, or one sample, may take. A swap that is right takes
// milliseconds; an emulator takes seconds to start. Tests set a shorter time.
var answerTime = 10 * time.Second

// emulator is the command that runs programs of another architecture than the machine's; empty on the machine itself.
var emulator = strings.Fields(os.Getenv("FIBERLAB_EXEC"))

func init() {
	if len(emulator) > 0 {
		answerTime = 2 * time.Minute
	}
}

// processorTime is what the process may use: the limit of each sample ends a swap that does not come back.
const processorTime = 24 * time.Hour

//go:embed harness/swap.c
var harness string

// Lab returns the lab about the swap of this machine's architecture, since only such a swap can be measured. If there
// is none, it returns the first lab about a swap.
func Lab() *grade.Lab {
	labs := swap.Labs()
	return labs[max(0, slices.IndexFunc(labs, func(l *grade.Lab) bool { return l.On(machine.Native()) == nil }))]
}

// With builds the swap in the folder dir as the grader does, and calls use with a mechanism that switches by it.
// When ctx ends, so does a sample of the mechanism. It returns the errors of use and of grade.Lab.Build. The
// program that calls it has called sandbox.Init.
func With(ctx context.Context, dir string, use func(bench.Mechanism) error) error {
	if err := machine.Known(); err != nil {
		return err
	}
	o := grade.Options{Arch: machine.Native(), Dir: dir}
	text := strings.Replace(harness, `#include "../../pingpong.h"`, bench.PingpongHeader, 1)
	sources := map[string]string{"swap.c": text}
	return Lab().Build(ctx, o, sources, func(program *machine.Program) error {
		argv := slices.Concat(emulator, []string{program.Path})
		return use(bench.Mechanism{Name: Name, Open: func() (bench.Session, error) { return open(ctx, argv) }})
	})
}

// session is a process that swaps. The thread that started it lives as long, since the process ends with it.
type session struct {
	ctx       context.Context
	process   *os.Process
	questions *os.File // each is a number of round trips
	answers   *os.File // each is a number of nanoseconds
	lines     *bufio.Reader
	ended     chan struct{}
	err       error // what Wait returned; valid when ended is closed
}

func open(ctx context.Context, argv []string) (bench.Session, error) {
	in, questions, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	answers, out, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), questions.Close())
	}
	argv = sandbox.Wrap(argv, sandbox.Limits{CPU: processorTime})
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Stdin, c.Stdout, c.Env = in, out, []string{}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	s := &session{
		ctx: ctx, questions: questions, answers: answers, lines: bufio.NewReader(answers), ended: make(chan struct{}),
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.Start()
		started <- err
		if err == nil {
			s.err = c.Wait()
			close(s.ended)
		}
	}()
	err = errors.Join(<-started, in.Close(), out.Close())
	if err != nil {
		return nil, errors.Join(err, questions.Close(), answers.Close())
	}
	s.process = c.Process
	said, err := s.answer()
	if err == nil && said != "ready" {
		err = errors.New("the swap " + said)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Run makes n switches, rounded up to whole round trips.
func (s *session) Run(n int) (bench.Sample, error) {
	trips := max(1, (n+1)/2)
	if err := bench.PinHere(s.process.Pid); err != nil {
		return bench.Sample{}, s.fault(err)
	}
	if _, err := fmt.Fprintln(s.questions, trips); err != nil {
		return bench.Sample{}, s.fault(err)
	}
	said, err := s.answer()
	if err != nil {
		return bench.Sample{}, err
	}
	took, err := strconv.ParseUint(said, 10, 62)
	if err != nil {
		return bench.Sample{}, fmt.Errorf("the program of the swap printed %q", machine.Clip(said, 100, " ..."))
	}
	return bench.Sample{Operations: 2 * trips, Elapsed: time.Duration(took)}, nil
}

// answer returns the next line that the process prints.
func (s *session) answer() (string, error) {
	if err := s.answers.SetReadDeadline(time.Now().Add(answerTime)); err != nil {
		return "", err
	}
	line, err := s.lines.ReadString('\n')
	if err != nil {
		return "", s.fault(err)
	}
	return strings.TrimSpace(line), nil
}

// fault says what became of the process, which has not answered.
func (s *session) fault(err error) error {
	late := errors.Is(err, os.ErrDeadlineExceeded)
	s.kill()
	<-s.ended
	exit := new(exec.ExitError)
	switch {
	case s.ctx.Err() != nil:
		return context.Cause(s.ctx)
	case late:
		return fmt.Errorf("the swap does not come back within %v", answerTime)
	case errors.As(s.err, &exit):
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return fmt.Errorf("the swap crashed: its program got %s", unix.SignalName(status.Signal()))
		}
		return fmt.Errorf("the swap ended its program: %w", s.err)
	}
	return errors.Join(errors.New("the swap ended its program"), err)
}

func (s *session) kill() { _ = syscall.Kill(-s.process.Pid, syscall.SIGKILL) }

// Close ends the process.
func (s *session) Close() error {
	s.kill()
	<-s.ended
	return errors.Join(s.questions.Close(), s.answers.Close())
}
