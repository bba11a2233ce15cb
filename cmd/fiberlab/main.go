// Command fiberlab is the lab's command line: the main job on real input, and the switch-cost table.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// What the process answers.
const (
	exitDone        = 0
	exitFailed      = 1   // the work was begun and did not succeed
	exitUsage       = 2   // the command line asks for something that does not exist
	exitInterrupted = 130 // as a shell reports SIGINT
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := newLab(os.Stdout, os.Stderr).execute(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "fiberlab:", oneLine(err))
	}
	os.Exit(exitCode(err))
}

// failure is an error of the work itself; all others are about the command line.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

func exitCode(err error) int {
	var failed failure
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &failed):
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
