package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"fiberlab/files"
)

// The exit codes of grep(1).
const (
	grepNone   = 1 // no line matches
	grepFailed = 2 // something could not be read, whatever has been found
)

func (l *lab) grepCommand() *cobra.Command {
	var o files.GrepOptions
	var json bool
	c := &cobra.Command{
		Use:   "grep PATTERN DIR",
		Short: "Search files by fibers and io_uring, or by goroutines",
		Long: `Prints the lines that match the regular expression PATTERN (as package regexp has them) in all files below DIR, as
FILE:NUMBER:LINE, in the order of the files' names; DIR may be a file as well. A file with a NUL in its first 8
KB is binary: if it matches, that is said once. Links below DIR are not followed. With driver uring or
epoll fibers read and search the files, with driver go goroutines by package os. --json prints statistics, and no
lines.

Exit status: 0 there are matches; 1 there are none; 2 the command line is wrong, or something could not be
read; 130 interrupted.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 || args[1] == "" {
				return errors.New("give two words: PATTERN, what to look for, and DIR, where")
			}
			if _, err := regexp.Compile(args[0]); err != nil {
				return fmt.Errorf("the pattern is no regular expression: %w", err)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return l.grep(c.Context(), args[0], args[1], o, json) },
	}
	addFilesFlags(c, &o.Setup, &json)
	return c
}

// grep searches, and prints what it finds.
func (l *lab) grep(ctx context.Context, pattern, dir string, o files.GrepOptions, json bool) error {
	if !json {
		o.Lines = func(text []byte) error {
			_, err := l.stdout.Write(text)
			return err
		}
	}
	r := report{Machine: thisMachine()}
	found, err := files.Grep(ctx, pattern, dir, o)
	if err = errors.Join(err, release()); err != nil {
		if ctx.Err() == nil {
			err = fmt.Errorf("grep: %w", err)
		}
		return err
	}
	r.Found = found
	if json {
		if err := r.write(l.stdout, true); err != nil {
			return failure{err}
		}
	}
	slices.Sort(found.Failed)
	for _, why := range found.Failed {
		fmt.Fprintln(l.stderr, "fiberlab:", why)
	}
	switch {
	case len(found.Failed) > 0:
		return status(grepFailed)
	case found.Matching == 0:
		return status(grepNone)
	}
	return nil
}
