// Command labs grades and shows what was written for the labs. It is the part of fiberlab that needs no C library to be
// built; labs/lab.mk builds it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"fiberlab/labs/command"
	"fiberlab/labs/sandbox"
)

func main() {
	sandbox.Init()
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := execute(ctx, os.Stdout, os.Stderr, os.Args[1:])
	fmt.Fprint(os.Stderr, command.Message("labs", err))
	os.Exit(command.ExitCode(err))
}

// execute does what the command line args says.
func execute(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	root := &cobra.Command{
		Use:   "labs",
		Short: "The labs of fiberlab: grade what was written, step through it, try its schedules",
	}
	root.AddCommand(command.Grade(stdout, stderr), command.GradeAll(stdout, stderr), command.PrintPoints(stdout),
		command.Step(os.Stdin, stdout, stderr), command.Explore(stdout, stderr, nil))
	return command.Execute(ctx, root, stdout, stderr, args)
}
