package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"fiberlab/bench"
	"fiberlab/fiber"
)

// quickRounds is what --quick means: enough to see the order of the mechanisms, not to quote figures.
const quickRounds = 5

// mostWorkers is as many as a scheduler of the pipeline may have: each makes a few threads.
const mostWorkers = 64

// options are the flags and arguments of one command line.
type options struct {
	dir      string // empty: the Go standard library's sources
	backends []fiber.Backend
	workers  int
	states   bool
	traces   *traces
	json     bool
	noTable  bool
	bench    bench.Options
}

// execute does what the command line args says. An error that is no failure is about args.
func (l *lab) execute(ctx context.Context, args []string) error {
	root := &cobra.Command{
		Use:               "fiberlab",
		Short:             "Fibers switched by hand-written assembly, measured against their rivals",
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.AddCommand(l.runCommand(), l.benchCommand(), versionCommand())
	root.SetArgs(args)
	root.SetOut(l.stdout)
	root.SetErr(l.stderr)
	return root.ExecuteContext(ctx)
}

func (l *lab) runCommand() *cobra.Command {
	var o options
	var names []string
	var trace string
	c := &cobra.Command{
		Use:   "run [DIR]",
		Short: "Count the words below DIR by tasks on a scheduler, on every backend, then show what a switch costs",
		Long: `Counts the words of every text file below DIR (default: the Go standard library's sources) by tasks
that read, split and count, on the fibers of a scheduler; on each backend in turn. The tasks hand over
in bounded queues, there are more of them than workers, and they wait with and without deadlines.
Fails unless all backends agree with a plain sequential count, and unless on each of them fibers were
Idle, Yielded, Waiting, Queued and Running. Then measures what a switch costs, for each mechanism.

A file is text if its first 8 KB are UTF-8 without a NUL. Symbolic links below DIR are not followed.

--trace writes what every fiber did and when, for https://ui.perfetto.dev or chrome://tracing. With several
backends, FILE has the backend's name before its extension: trace.json becomes trace.asm.json and so on.

Exit status: 0 all agree; 1 the work failed; 2 the command line is wrong; 130 interrupted.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.dir = args[0]
				if o.dir == "" {
					return errors.New("DIR is empty: leave it out for the Go standard library's sources")
				}
			}
			var err error
			if o.backends, err = parseBackends(names); err != nil {
				return err
			}
			if o.workers < 0 || o.workers > mostWorkers {
				return fmt.Errorf("--workers %d: give a number from 0 to %d; with 0 the calling thread runs all tasks", o.workers, mostWorkers)
			}
			if o.traces, err = createTraces(trace, o.backends); err != nil {
				return err
			}
			return errors.Join(l.run(c.Context(), o), o.traces.close())
		},
	}
	c.Flags().StringSliceVar(&names, "backend", nil, "count on this backend only: asm, ucontext or goroutine (repeatable)")
	c.Flags().IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "worker threads of the scheduler; with 0 the calling thread runs all tasks")
	c.Flags().BoolVar(&o.states, "states", false, "print how often fibers went from one state to another")
	c.Flags().StringVar(&trace, "trace", "", "write a trace of the fibers to `FILE`")
	c.Flags().BoolVar(&o.noTable, "no-table", false, "leave the switch-cost table out")
	addBenchFlags(c, &o)
	c.MarkFlagsMutuallyExclusive("no-table", "quick")
	c.MarkFlagsMutuallyExclusive("no-table", "rounds")
	return c
}

func (l *lab) benchCommand() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "bench",
		Short: "Show what a switch costs, for each mechanism",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return l.bench(c.Context(), o)
		},
	}
	addBenchFlags(c, &o)
	return c
}

func addBenchFlags(c *cobra.Command, o *options) {
	var quick bool
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON document")
	c.Flags().IntVar(&o.bench.Rounds, "rounds", bench.DefaultRounds, "samples of each mechanism in the switch-cost table")
	c.Flags().BoolVar(&quick, "quick", false, fmt.Sprintf("short for --rounds %d", quickRounds))
	c.MarkFlagsMutuallyExclusive("quick", "rounds")
	c.PreRunE = func(*cobra.Command, []string) error {
		if quick {
			o.bench.Rounds = quickRounds
		}
		if o.bench.Rounds < 1 {
			return fmt.Errorf("--rounds %d: give a number from 1 up", o.bench.Rounds)
		}
		return nil
	}
}

// parseBackends returns the backends of those names, each once, or all if there are no names.
func parseBackends(names []string) ([]fiber.Backend, error) {
	if len(names) == 0 {
		return fiber.Backends(), nil
	}
	var backends []fiber.Backend
	for _, name := range names {
		b, err := fiber.ParseBackend(name)
		if err == nil {
			b, err = b.Resolve()
		}
		if err != nil {
			return nil, fmt.Errorf("--backend: %w", err)
		}
		if !slices.Contains(backends, b) {
			backends = append(backends, b)
		}
	}
	return backends, nil
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of fiberlab and of the Go it was built with",
		Args:  cobra.NoArgs,
		Run: func(c *cobra.Command, _ []string) {
			version := "(unknown)"
			if info, ok := debug.ReadBuildInfo(); ok {
				version = info.Main.Version
			}
			printVersion(c.OutOrStdout(), version)
		},
	}
}

func printVersion(w io.Writer, version string) {
	fmt.Fprintf(w, "fiberlab %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
