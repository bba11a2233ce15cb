// Command fiberlab is the lab's command line. It counts words on fibers (package wordcount) and measures what a switch
// costs (package bench). It shows faults of concurrent programs (package demo) and runs servers (package serve). It
// reports on a terminal, in a pipe or as JSON.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	labcommand "fiberlab/labs/command"
	"fiberlab/labs/sandbox"
	"fiberlab/sched/uring"
)

// The exit codes of the process.
const (
	exitDone        = 0
	exitFailed      = 1   // the work began and did not succeed
	exitUsage       = 2   // the command line asks for something that does not exist
	exitInterrupted = 130 // as a shell reports SIGINT
)

func main() {
	sandbox.Init()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := newLab(os.Stdout, os.Stderr).execute(ctx, os.Args[1:])
	if text := message(err); text != "" {
		fmt.Fprint(os.Stderr, text)
	}
	os.Exit(exitCode(err))
}

// message is what is said of err.
func message(err error) string {
	var graded labcommand.Status
	if err == nil || errors.As(err, &graded) {
		return ""
	}
	return "fiberlab: " + oneLine(err) + "\n"
}

// failure is an error of the work itself. All other errors are about the command line.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

func exitCode(err error) int {
	var failed failure
	var graded labcommand.Status
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &graded):
		return int(graded)
	case errors.As(err, &failed) && !errors.Is(err, uring.ErrUnavailable): // a driver that this kernel has not
		return exitFailed
	}
	return exitUsage
}

// oneLine is the text of err in one line, however many errors are joined in it.
func oneLine(err error) string {
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}
