// Package command has the commands by which labs are worked on. fiberlab has them, and so has cmd/labs, a small program
// without cgo that `make -C labs/NN` builds.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	_ "fiberlab/internal/platform/system" // ends a build for another system with one line
	"fiberlab/labs/sandbox"
)

// The exit codes of grade.
const (
	exitFull        = 0   // full marks
	exitLost        = 1   // points lost
	exitSetUp       = 2   // the command line is wrong, or this machine lacks something
	exitUnbuilt     = 3   // what was handed in does not build
	exitInterrupted = 130 // as a shell reports SIGINT
)

// Status is an exit code of which all has been said.
type Status int

func (s Status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// ExitCode returns the exit code of a process whose command returned err.
func ExitCode(err error) int {
	var s Status
	switch {
	case err == nil:
		return exitFull
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &s):
		return int(s)
	}
	return exitSetUp
}

// Unbuilt writes to stderr what is wrong with sources that do not build, if err says so, and returns a Status in its
// place. It returns other errors as they are.
func Unbuilt(stderr io.Writer, err error) error {
	var failed *sandbox.BuildError
	if !errors.As(err, &failed) {
		return err
	}
	for line := range strings.SplitSeq(strings.TrimSpace(failed.Error()+"\n"+failed.More), "\n") {
		fmt.Fprintln(stderr, clean(line))
	}
	return Status(exitUnbuilt)
}

// Message returns what a program of that name says of err: one line, or nothing if all has been said.
func Message(program string, err error) string {
	var s Status
	switch {
	case err == nil || errors.As(err, &s):
		return ""
	case errors.Is(err, context.Canceled):
		return program + ": interrupted\n"
	}
	return program + ": " + strings.ReplaceAll(err.Error(), "\n", "; ") + "\n"
}

// flagErrors says for each flag in remedies what to do about a wrong value.
func flagErrors(remedies map[string]string) func(*cobra.Command, error) error {
	return func(c *cobra.Command, err error) error {
		var value *pflag.InvalidValueError
		var missing *pflag.ValueRequiredError
		var unknown *pflag.NotExistError
		switch {
		case errors.As(err, &value) && remedies[value.GetFlag().Name] != "":
			return fmt.Errorf("--%s %s: %s", value.GetFlag().Name, value.GetValue(), remedies[value.GetFlag().Name])
		case errors.As(err, &missing):
			return fmt.Errorf("--%s has no value: %s", missing.GetFlag().Name, remedies[missing.GetFlag().Name])
		case errors.As(err, &unknown):
			return fmt.Errorf("%w: %s --help lists the flags", err, c.CommandPath())
		}
		return err
	}
}
