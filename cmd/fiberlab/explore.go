package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	labcommand "fiberlab/labs/command"
	"fiberlab/labs/explore"
)

// exitUnbuilt is the exit code if files of the user do not build, as for grade.
const exitUnbuilt = 3

// exploration is a command line of explore.
type exploration struct {
	explore.Options
	explore.BuildOptions
	files []string
	json  bool
	html  string // the file that gets a page; empty: none
}

func (l *lab) exploreCommand() *cobra.Command {
	var o exploration
	c := &cobra.Command{
		Use:   "explore FILE...",
		Short: "Try the schedules of a concurrent C program, and show one that fails",
		Long: `Builds the C files, which define explore_test, and runs that once for each schedule that there is.
Threads are fibers, and each access to memory that threads may share is a place where another one may go on. A load
may return what the C standard allows, and not only what this processor would. So a fault that comes once in a million
runs comes every time.

The files are plain C11. They include <explore.h> for threads, locks and checks; docs/explore.md describes it.

Schedules without a preemption come first, then those with one, and so on, until all have been tried, one fails, or the
time is over. A schedule that fails is shown step by step, and as a short text for --replay.

The program runs with all your rights.

Exit status: 0 no schedule that was tried fails; 1 one does, or the work failed; 2 the command line is wrong, or this
machine lacks something; 3 the files do not build; 130 interrupted.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("no FILE: name the C files of the program")
			}
			o.files = args
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"c"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(c); err != nil {
				return err
			}
			return l.exploreFiles(c.Context(), o)
		},
	}
	flags := c.Flags()
	flags.IntVar(&o.Preemptions, "preemptions", 0,
		"try only schedules with at most `N` preemptions (default: any number)")
	flags.IntVar(&o.Schedules, "schedules", 0, "stop after `N` schedules (default: no limit)")
	flags.DurationVar(&o.Time, "time", 10*time.Second, "stop after this `TIME`")
	flags.BoolVar(&o.Random, "random", false, "draw all schedules at random")
	flags.Uint64Var(&o.Seed, "seed", 1, "draw random schedules from `N`")
	flags.IntVar(&o.Stops, "stops", 0, "let at most `N` threads stop for ever, after any step (default: none)")
	flags.BoolVar(&o.All, "all", false, "go on after a schedule that fails, to report all outcomes")
	flags.StringVar(&o.Replay, "replay", "", "run only `SCHEDULE`, as a report prints it")
	flags.StringArrayVarP(&o.Define, "define", "D", nil, "define the macro `NAME`, or NAME=VALUE (repeatable)")
	flags.StringVar(&o.Compiler, "compiler", "", "build by the C compiler `COMMAND` (default: $CC, or Go's)")
	flags.StringVar(&o.Keep, "keep", "", "keep the program as `FILE`, to run it by gdb")
	flags.StringVar(&o.html, "html", "", "write a page for browsers of the schedule that fails to `FILE`")
	flags.BoolVar(&o.json, "json", false, "print one JSON document")
	for flag, text := range map[string]string{
		"preemptions": "give a number from 0 up", "schedules": "give a number from 1 up",
		"stops": "give a number from 0 to " + strconv.Itoa(explore.MostStops),
		"time":  "give a time such as 30s", "seed": "give a number from 0 up",
		"replay": "give the schedule that a report has printed", "define": "give NAME or NAME=VALUE",
		"compiler": "give the command of a C compiler", "keep": "name a file",
		"html": "name the file that gets the page",
	} {
		setRemedy(flags.Lookup(flag), text)
		if flag != "keep" && flag != "html" {
			complete(c, flag)
		}
	}
	return c
}

// check reports what is wrong with the command line.
func (o *exploration) check(c *cobra.Command) error {
	flags := c.Flags()
	wrong := func(flag string, is bool) error {
		if flags.Changed(flag) && is {
			return wrongValue(flags.Lookup(flag), flags.Lookup(flag).Value.String())
		}
		return nil
	}
	for _, err := range []error{
		wrong("preemptions", o.Preemptions < 0), wrong("schedules", o.Schedules < 1), wrong("time", o.Time <= 0),
		wrong("stops", o.Stops < 0 || o.Stops > explore.MostStops),
		wrong("replay", o.Replay == ""), wrong("compiler", strings.TrimSpace(o.Compiler) == ""),
		wrong("keep", o.Keep == ""), wrong("html", o.html == ""),
		notBoth(c, "replay", "random", "a schedule that is replayed is not drawn"),
		notBoth(c, "replay", "preemptions", "the schedule says where threads are preempted"),
		notBoth(c, "replay", "stops", "the schedule says which threads stop"),
		notBoth(c, "random", "preemptions", "schedules that are drawn have any number"),
		notBoth(c, "random", "all", "only a search of all schedules finds all outcomes"),
	} {
		if err != nil {
			return err
		}
	}
	if flags.Changed("preemptions") && o.Preemptions == 0 {
		o.Preemptions = explore.NoPreemption
	}
	for _, file := range o.files {
		if info, err := os.Stat(file); err != nil {
			return fmt.Errorf("%w: name the C files of the program", err)
		} else if info.IsDir() {
			return fmt.Errorf("%s is a folder: name the C files of the program", file)
		}
	}
	return nil
}

// exploreFiles builds and explores a program. It fails if a schedule does.
func (l *lab) exploreFiles(ctx context.Context, o exploration) error {
	p := newProgress(l.stderr, o.json)
	r, err := o.explore(ctx, l.stderr, p)
	if built := new(explore.BuildError); errors.As(err, &built) {
		fmt.Fprintln(l.stderr, built)
		return labcommand.Status(exitUnbuilt)
	}
	if err != nil {
		return err
	}
	if o.html != "" {
		if err := o.writePage(r, l.stderr); err != nil {
			return err
		}
	}
	if err := l.finish(options{json: o.json}, report{Machine: thisMachine(), Schedules: r}, nil); err != nil {
		return err
	}
	if r.Verdict != explore.Pass {
		return labcommand.Status(exitFailed)
	}
	return nil
}

// writePage writes the page of the schedule that fails. If none does, it says so and leaves the file alone.
func (o *exploration) writePage(r *explore.Result, stderr io.Writer) error {
	var page bytes.Buffer
	err := r.HTML(&page)
	if errors.Is(err, explore.ErrNoPage) {
		fmt.Fprintf(stderr, "fiberlab: %v: %s is not written\n", err, o.html)
		return nil
	}
	if err == nil {
		err = os.WriteFile(o.html, page.Bytes(), 0o666)
	}
	if err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	return nil
}

// explore builds and explores the program, and removes what it made. What the compiler warns of goes to stderr.
func (o *exploration) explore(ctx context.Context, stderr io.Writer, p *progress) (r *explore.Result, err error) {
	tools, err := explore.NewRuntime(ctx, o.Compiler)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tools.Close()) }()
	program, warnings, err := tools.Build(ctx, o.files, o.BuildOptions)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, program.Close()) }()
	if warnings != "" {
		fmt.Fprintln(stderr, warnings)
	}
	end := func() {}
	o.Progress = p.count(&end)
	r, err = program.Run(ctx, o.Options)
	end()
	if err != nil && ctx.Err() == nil && !errors.Is(err, explore.ErrSchedule) {
		err = failure{err}
	}
	if r != nil {
		r.Load()
	}
	return r, err
}

// count returns a function that shows on a terminal how many schedules have been tried. end removes the line.
func (p *progress) count(end *func()) func(bound, schedules int) {
	if !p.screen.terminal || p.quiet {
		return nil
	}
	longest := 0
	*end = func() { fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", longest)) }
	return func(bound, schedules int) {
		line := thousands(schedules) + " schedules"
		if bound >= 0 {
			line += ", with at most " + strconv.Itoa(bound) + " preemptions"
		}
		longest = max(longest, len(line))
		fmt.Fprintf(p.w, "\r%-*s", longest, line)
	}
}
