package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fiberlab/files"
	"fiberlab/sched/uring"
)

func (l *lab) copyCommand() *cobra.Command {
	var o files.CopyOptions
	var json bool
	c := &cobra.Command{
		Use:   "cp SRC DST",
		Short: "Copy files by fibers and io_uring, or by goroutines",
		Long: `Copies the file SRC to DST, or into DST if that is a directory, with its permissions; with -r, a directory with
all that is below it, links as links. With driver uring or epoll fibers copy, with driver go goroutines by
package os.

Each file gets its name when all of it is there: until then it is called .fiberlab-*.part, and that is removed if
the copy fails or is interrupted.

Exit status: 0 all is copied; 1 some of it is not; 2 the command line is wrong, or SRC and DST are not fit; 130
interrupted.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 || slices.Contains(args, "") {
				return errors.New("give two names: SRC, what is to be copied, and DST, where to")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return l.copy(c.Context(), args[0], args[1], o, json) },
	}
	c.Flags().BoolVarP(&o.Recursive, "recursive", "r", false, "copy directories with all that is below them")
	addFilesFlags(c, &o.Setup, &json)
	return c
}

// addFilesFlags adds the flags of commands that use files.
func addFilesFlags(c *cobra.Command, o *files.Setup, json *bool) {
	var driver string
	flags := c.Flags()
	flags.StringVar(&driver, "driver", uring.Auto.String(), "read and write files by `NAME`: "+anyOf(driverNames()))
	flags.IntVar(&o.Scheduler.Workers, "workers", runtime.GOMAXPROCS(0), "worker threads of the scheduler")
	flags.BoolVar(json, "json", false, "print one JSON document at the end")
	setRemedy(flags.Lookup("driver"), "choose one of "+anyOf(driverNames()))
	setRemedy(flags.Lookup("workers"), fmt.Sprintf("give a number from 1 to %d", mostWorkers))
	complete(c, "driver", driverNames()...)
	complete(c, "workers")
	c.PreRunE = func(*cobra.Command, []string) (err error) {
		if o.Scheduler.Workers < 1 || o.Scheduler.Workers > mostWorkers {
			return wrongValue(flags.Lookup("workers"), strconv.Itoa(o.Scheduler.Workers))
		}
		o.Scheduler.Name = c.Name()
		o.Engines, err = enginesBy(flags.Lookup("driver"), driver)
		if err == nil && o.Engines == nil && flags.Changed("workers") {
			return fmt.Errorf("--workers is about fibers, and driver %s has none: choose another --driver, or leave it out", goDriver)
		}
		return errors.Join(err, checkEnvironment())
	}
}

// enginesBy are the engines that the flag chooses by the name of a driver: nil for driver go.
func enginesBy(flag *pflag.Flag, name string) (*uring.Options, error) {
	if !slices.Contains(driverNames(), name) {
		return nil, wrongValue(flag, name)
	}
	if name == goDriver {
		return nil, nil
	}
	driver, err := uring.ParseDriver(name)
	if err != nil {
		return nil, err
	}
	return &uring.Options{Driver: driver}, nil
}

// copy copies, and reports what has been copied.
func (l *lab) copy(ctx context.Context, from, to string, o files.CopyOptions, json bool) error {
	r := report{Machine: thisMachine()}
	p := newProgress(l.stderr, json)
	ph := &phase{stop: func() {}}
	o.Sized = func(bytes int64) {
		ph = p.phase("cp", bytes)
	}
	o.Counted = func(bytes int64) { ph.done.Add(bytes) }
	copied, err := files.Copy(ctx, from, to, o)
	ph.end()
	var unfit *files.PlanError
	if errors.As(err, &unfit) {
		return err
	}
	r.Copied = copied
	if err != nil {
		err = failure{err}
	}
	if copied == nil || ctx.Err() != nil {
		return l.finish(options{json: json}, r, err)
	}
	return errors.Join(l.finish(options{json: json}, r, nil), err)
}

// writeCopied tells what has been copied.
func writeCopied(p *page, c *files.Copied) {
	directories := counted(c.Directories, "directory")
	if c.Directories != 1 {
		directories = fmt.Sprintf("%d directories", c.Directories)
	}
	p.say("%s, %s, %s: %s in %s, by driver %s", counted(int(c.Files), "file"), directories, counted(c.Links, "link"), megabytes(c.Bytes), seconds(c.Seconds), c.Driver)
}
