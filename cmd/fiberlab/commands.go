package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fiberlab/bench"
	"fiberlab/fiber"
	labcommand "fiberlab/labs/command"
	"fiberlab/sched"
	"fiberlab/sched/uring"
)

// mostWorkers is how many workers may be asked for: each makes a few threads.
const mostWorkers = 64

// options are the flags and arguments of one command line.
type options struct {
	dir      string // empty: the Go standard library's sources
	settings []setting
	workers  int
	groups   sched.Groups
	stats    bool
	states   bool
	traces   traces
	io       *uring.Options // nil: package os reads the files
	json     bool
	noTable  bool
	bench    bench.Options
}

// execute does what the command line args says. An error that is not a failure is about args.
func (l *lab) execute(ctx context.Context, args []string) error {
	root := &cobra.Command{
		Use:     "fiberlab",
		Short:   "Fibers switched by hand-written assembly, measured against their rivals",
		Version: version(),
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(l.runCommand(), l.benchCommand(), l.predictCommand(), l.demoCommand(),
		labcommand.Explore(l.stdout, l.stderr, l.explored), l.serveCommand(),
		l.timelineCommand(), l.doctorCommand(), labcommand.Grade(l.stdout, l.stderr),
		labcommand.GradeAll(l.stdout, l.stderr), labcommand.PrintPoints(l.stdout),
		labcommand.Step(os.Stdin, l.stdout, l.stderr),
		versionCommand())
	err := labcommand.Execute(ctx, root, l.stdout, l.stderr, args)
	if lost := new(fs.PathError); errors.As(err, &lost) && lost.Op == "write" && lost.Path == os.Stdout.Name() {
		return failure{err}
	}
	return err
}

func (l *lab) runCommand() *cobra.Command {
	var o options
	var backends, policies []string
	var mode, io string
	c := &cobra.Command{
		Use:   "run [DIR]",
		Short: "Count words by tasks on fibers, then show what a switch costs",
		Long: `Counts the words of every text file below DIR (default: the Go standard library's sources) by tasks
that read, split and count, on the fibers of a scheduler; on each backend in turn. The tasks pass words on
through bounded channels, there are more of them than workers, and they wait with and without deadlines.
Fails unless all backends agree with a plain sequential count, and unless on each of them fibers were
Idle, Yielded, Waiting, Queued and Running. Then measures what a switch costs, for each mechanism.

A policy decides where ready tasks and fibers wait, and which of them a worker runs next. If --policy
names several, each backend counts under each of them. --group-size, --mode, --spinners and --stats are about
policy group: how it divides the workers, where what is ready waits, how many idle workers spin, and
what each group did.

--io names the driver by which tasks read the files: package os, which blocks their thread, or an engine on
io_uring or epoll, which blocks the fiber alone.

A file is text if its first 8 KB are UTF-8 without a NUL. Symbolic links below DIR are not followed.

--trace writes what every fiber did and when, for https://ui.perfetto.dev or chrome://tracing: as JSON, or
in Perfetto's own format if FILE ends in .pftrace. If there is
more than one count, each has a file, with the backend's name before the extension: trace.json becomes
trace.asm.json and so on; and with the policy's name as well, if there are several. --timeline writes the
same as a page for browsers.

Exit status: 0 all agree; 1 the work failed; 2 the command line is wrong; 130 interrupted.`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return fmt.Errorf(
					"%d directories: give one DIR, or none for the Go standard library's sources", len(args),
				)
			case len(args) == 1 && args[0] == "":
				return errors.New("DIR is empty: leave it out for the Go standard library's sources")
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.dir = args[0]
			}
			flags := c.Flags()
			chosen, err := parseNames(flags.Lookup("policy"), policies, sched.ParsePolicy)
			if err != nil {
				return err
			}
			on := fiber.Backends()
			if flags.Changed("backend") {
				if on, err = parseNames(flags.Lookup("backend"), backends, parseBackend); err != nil {
					return err
				}
			}
			o.settings = settings(on, chosen)
			if o.groups, err = groupFlags(flags, o.groups, mode, chosen); err != nil {
				return err
			}
			if o.workers < 0 || o.workers > mostWorkers {
				return wrongValue(flags.Lookup("workers"), strconv.Itoa(o.workers))
			}
			if o.io, err = enginesBy(flags.Lookup("io"), io); err != nil {
				return err
			}
			if err := notEmpty(c, "trace", "timeline"); err != nil {
				return err
			}
			if err := o.traces.create(o.settings); err != nil {
				return err
			}
			return l.run(c.Context(), o)
		},
	}
	flags := c.Flags()
	flags.StringSliceVar(&backends, "backend", nil,
		"count only on the backend `NAME`: "+anyOf(backendNames())+" (repeatable; default all)")
	flags.StringSliceVar(&policies, "policy", policyNames()[:1],
		"schedule by the policy `NAME`: "+anyOf(policyNames())+" (repeatable)")
	flags.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0),
		"worker threads of the scheduler; with 0 the calling thread runs all tasks")
	addGroupFlags(c, &o.groups, &mode)
	c.Flags().StringVar(&io, "io", goDriver, "read the files by `NAME`: "+anyOf(driverNames()))
	setRemedy(c.Flags().Lookup("io"), "choose one of "+anyOf(driverNames()))
	c.Flags().BoolVar(&o.stats, "stats", false, "policy group: print what each scheduling group did")
	c.Flags().BoolVar(&o.states, "states", false, "print how often fibers went from one state to another")
	c.Flags().StringVar(&o.traces.trace, "trace", "", "write a trace of the fibers to `FILE`")
	c.Flags().StringVar(&o.traces.timeline, "timeline", "", "write a page for browsers with what the fibers did to `FILE`")
	c.Flags().BoolVar(&o.noTable, "no-table", false, "leave the switch-cost table out")
	addBenchFlags(c, &o)
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON document")
	c.MarkFlagsMutuallyExclusive("no-table", "quick")
	c.MarkFlagsMutuallyExclusive("no-table", "rounds")
	complete(c, "backend", backendNames()...)
	complete(c, "policy", policyNames()...)
	complete(c, "io", driverNames()...)
	complete(c, "workers")
	complete(c, "mode", modeNames()...)
	complete(c, "spinners")
	complete(c, "group-size")
	return c
}

// anyOf lists names as English does.
func anyOf(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// complete sets the values that a shell offers for the flag.
func complete(c *cobra.Command, flag string, values ...string) {
	complete := cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	if err := c.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err)
	}
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "version",
		Short:             "Print the version of fiberlab and of the Go it was built with",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		Run: func(c *cobra.Command, _ []string) {
			fmt.Fprintln(c.OutOrStdout(), c.Root().Name(), c.Root().Version)
		},
	}
}

// version names the version of fiberlab, the Go release it was built with, and the system it was built for.
func version() string {
	v := "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok {
		v = info.Main.Version
	}
	return fmt.Sprintf("%s %s %s/%s", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
