package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fiberlab/labs"
	"fiberlab/labs/explore"
	"fiberlab/labs/formats"
	"fiberlab/labs/machine"
	"fiberlab/labs/step"
)

// exploration is a command line of explore.
type exploration struct {
	explore.Options
	explore.BuildOptions
	files  []string
	json   bool
	html   string // the file that gets a page; empty: none
	stderr io.Writer
}

// Explore returns the command explore. show writes a result, as one JSON document or as text; nil: to stdout, the
// result alone. Progress goes to stderr if it is a terminal.
func Explore(stdout, stderr io.Writer, show func(r *explore.Result, asJSON bool) error) *cobra.Command {
	o := exploration{stderr: stderr}
	if show == nil {
		show = func(r *explore.Result, asJSON bool) error {
			if asJSON {
				return formats.WriteJSON(stdout, r)
			}
			return r.Write(stdout, step.ScreenOf(stdout).Columns)
		}
	}
	c := &cobra.Command{
		Use:     "explore FILE...",
		PreRunE: func(*cobra.Command, []string) error { return machine.Known() },
		Short:   "Try the schedules of a concurrent C program, and show one that fails",
		Long: `Builds the C files, which define explore_test, and runs that once for each schedule that there is.
Threads are fibers, and each access to memory that threads may share is a place where another one may go on. A load
may return what the C standard allows, and not only what this processor would. So a fault that comes once in a million
runs comes every time.

The files are plain C11, or assembly (.S). One whose name ends in _amd64 or _arm64 belongs to that machine, and is left
out on the other one. One in a folder named swap gives way to a file by its name elsewhere, as labs/swap/context.c to
your own, and its swap_amd64.S to your swap.S. They include <explore.h> for threads, locks and checks; docs/explore.md
describes it.

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
			return o.run(c, show)
		},
	}
	flags := c.Flags()
	flags.IntVar(&o.Preemptions, "preemptions", 0,
		"try only schedules with at most `N` preemptions (default: any number)")
	flags.IntVar(&o.Schedules, "schedules", 0, "stop after `N` schedules (default: no limit)")
	flags.DurationVar(&o.Time, "time", 10*time.Second, "stop after this `TIME`")
	flags.BoolVar(&o.Random, "random", false, "draw all schedules at random")
	flags.Uint64Var(&o.Seed, "seed", 1, "draw random schedules from `N`")
	flags.IntVar(&o.Stops, "stops", 0, "let at most `N` threads stop and never go on, after any step (default: none)")
	flags.BoolVar(&o.All, "all", false, "go on after a schedule that fails, to report all outcomes")
	flags.StringVar(&o.Replay, "replay", "", "run only `SCHEDULE`, as a report prints it")
	flags.StringArrayVarP(&o.Define, "define", "D", nil, "define the macro `NAME`, or NAME=VALUE (repeatable)")
	flags.StringVar(&o.Compiler, "compiler", "", "build by the C compiler `COMMAND` (default: $CC, or Go's)")
	flags.StringVar(&o.Keep, "keep", "", "keep the program as `FILE`, to run it by gdb")
	flags.StringVar(&o.html, "html", "", "write a page for browsers of the schedule that fails to `FILE`")
	flags.BoolVar(&o.json, "json", false, "print one JSON document")
	c.SetFlagErrorFunc(flagErrors(exploreRemedies))
	for flag := range exploreRemedies {
		if flag != "keep" && flag != "html" {
			complete := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveNoFileComp)
			if err := c.RegisterFlagCompletionFunc(flag, complete); err != nil {
				panic(err)
			}
		}
	}
	return c
}

// exploreRemedies say what to do about a wrong value.
var exploreRemedies = map[string]string{
	"preemptions": "give a number from 0 up", "schedules": "give a number from 1 up",
	"stops": "give a number from 0 to " + strconv.Itoa(explore.MostStops),
	"time":  "give a time such as 30s", "seed": "give a number from 0 up",
	"replay": "give the schedule that a report has printed", "define": "give NAME or NAME=VALUE",
	"compiler": "give the command of a C compiler", "keep": "name a file",
	"html": "name the file that gets the page",
}

// check reports what is wrong with the command line.
func (o *exploration) check(c *cobra.Command) error {
	flags := c.Flags()
	wrong := func(flag string, is bool) error {
		if flags.Changed(flag) && is {
			value := flags.Lookup(flag).Value.String()
			if value == "" || strings.ContainsAny(value, " \t\n") {
				value = strconv.Quote(value)
			}
			return fmt.Errorf("--%s %s: %s", flag, value, exploreRemedies[flag])
		}
		return nil
	}
	notBoth := func(one, other, why string) error {
		if flags.Changed(one) && flags.Changed(other) {
			return fmt.Errorf("--%s and --%s: %s: leave one out", one, other, why)
		}
		return nil
	}
	for _, err := range []error{
		wrong("preemptions", o.Preemptions < 0), wrong("schedules", o.Schedules < 1), wrong("time", o.Time <= 0),
		wrong("stops", o.Stops < 0 || o.Stops > explore.MostStops),
		wrong("replay", o.Replay == ""), wrong("compiler", strings.TrimSpace(o.Compiler) == ""),
		wrong("keep", o.Keep == ""), wrong("html", o.html == ""),
		notBoth("replay", "random", "a schedule that is replayed is not drawn"),
		notBoth("replay", "preemptions", "the schedule says where threads are preempted"),
		notBoth("replay", "stops", "the schedule says which threads stop"),
		notBoth("random", "preemptions", "schedules that are drawn have any number"),
		notBoth("random", "all", "only a search of all schedules finds all outcomes"),
	} {
		if err != nil {
			return err
		}
	}
	if flags.Changed("preemptions") && o.Preemptions == 0 {
		o.Preemptions = explore.NoPreemption
	}
	o.files = slices.DeleteFunc(o.files, func(file string) bool { return !machine.Native().Takes(file) })
	o.files = slices.DeleteFunc(o.files, replaced(o.files))
	for _, file := range o.files {
		if info, err := os.Stat(file); err != nil {
			return fmt.Errorf("%w: name the C files of the program", err)
		} else if info.IsDir() {
			return fmt.Errorf("%s is a folder: name the C files of the program", file)
		}
	}
	return nil
}

// replaced returns a function that reports whether a file is one that labs give, in a folder named swap, and one of the
// others takes its place. As in a lab's folder, swap.S takes the place of swap_amd64.S.
func replaced(files []string) func(string) bool {
	name := func(file string) string {
		return strings.Replace(filepath.Base(file), "_"+machine.Native().Name+".", ".", 1)
	}
	own := map[string]bool{}
	for _, file := range files {
		own[name(file)] = own[name(file)] || !labs.InSwap(file)
	}
	return func(file string) bool { return labs.InSwap(file) && own[name(file)] }
}

// run builds and explores the program, and has the result shown. It fails if a schedule does.
func (o *exploration) run(c *cobra.Command, show func(*explore.Result, bool) error) error {
	ctx := c.Context()
	r, ran, err := o.explore(ctx)
	if built := new(explore.BuildError); errors.As(err, &built) {
		fmt.Fprintln(o.stderr, built)
		return Status(exitUnbuilt)
	}
	if err != nil && ran && ctx.Err() == nil && !errors.Is(err, explore.ErrSchedule) {
		fmt.Fprint(o.stderr, Message(c.Root().Name(), err))
		return Status(exitLost)
	}
	if err != nil {
		return err
	}
	if o.html != "" {
		if err := o.writePage(c.Root().Name(), r); err != nil {
			return err
		}
	}
	if err := show(r, o.json); err != nil {
		return err
	}
	if r.Verdict != explore.Pass {
		return Status(exitLost)
	}
	return nil
}

// writePage writes the page of the schedule that fails. If none does, it says so, as that program, and leaves the file
// alone.
func (o *exploration) writePage(program string, r *explore.Result) error {
	var page bytes.Buffer
	err := r.HTML(&page)
	if errors.Is(err, explore.ErrNoPage) {
		fmt.Fprintf(o.stderr, "%s: %v: %s is not written\n", program, err, o.html)
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

// explore builds and explores the program, and removes what it made. What the compiler warns of goes to stderr. ran
// reports whether the program was built and has run.
func (o *exploration) explore(ctx context.Context) (r *explore.Result, ran bool, err error) {
	tools, err := explore.NewRuntime(ctx, o.Compiler)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, tools.Close()) }()
	program, warnings, err := tools.Build(ctx, o.files, o.BuildOptions)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, program.Close()) }()
	if warnings != "" {
		fmt.Fprintln(o.stderr, warnings)
	}
	if step.ScreenOf(o.stderr).Terminal && !o.json {
		o.Progress = o.count
		defer fmt.Fprint(o.stderr, "\r\x1b[K")
	}
	if r, err = program.Run(ctx, o.Options); r != nil {
		r.Load()
	}
	return r, true, err
}

// count shows on a terminal how many schedules have been tried.
func (o *exploration) count(bound, schedules int) {
	line := strconv.Itoa(schedules) + " schedules"
	if bound >= 0 {
		line += ", with at most " + strconv.Itoa(bound) + " preemptions"
	}
	fmt.Fprintf(o.stderr, "\r\x1b[K%s", line)
}
