package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fiberlab/bench"
	"fiberlab/bench/predict"
	benchreport "fiberlab/bench/report"
	"fiberlab/bench/submission"
	labcommand "fiberlab/labs/command"
)

// quickRounds is the rounds of --quick: enough to see the order of the mechanisms, too few to quote figures.
const quickRounds = 5

// emulated is what is said of times that an emulator's machine has measured.
const emulated = "Emulated: times are those of an emulator and mean nothing."

// benchRequest is a command line of bench or predict.
type benchRequest struct {
	options
	swap           string
	hint           string // what to do if measuring fails
	csv, benchstat bool
	report         string // the folder of the page; empty: none
}

func (l *lab) benchCommand() *cobra.Command {
	var r benchRequest
	c := &cobra.Command{
		Use:   "bench [WORKLOAD]",
		Short: "Measure what a switch costs, and what is built on it, each mechanism beside its rivals",
		Long: fmt.Sprintf(
			`Measures a workload: %s, or all of them (default: switch). It takes the rivals
in turn, in an order drawn anew each round, until the ratios are known to 3 %%, or for --time. It prints medians, ratios
and their 95 %% intervals, and a sentence for each row. Where the machine was too noisy to tell, there is no ratio. A
rival that this machine lacks is skipped, with the line that installs it. After Ctrl-C it prints what it has measured.

With --swap DIR it measures the swap of lab %s in DIR (%s) beside asm-nofp, which saves the same registers, asm, which
saves the control words of floating point as well, and ucontext. The files of DIR are built as fiberlab grade builds
them. It shows what a swap costs; fiberlab grade shows whether it is right.

Exit status: 0 it was measured; 1 it failed, because the swap crashes, or does not come back; 2 the command line is
wrong, or this machine lacks something; 3 the files of DIR do not build; 130 interrupted.`,
			strings.Join(bench.WorkloadNames(), ", "), submission.Lab().Number, runtime.GOARCH,
		),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("bench %s: give one workload, or all", strings.Join(args, " "))
			}
			return nil
		},
		ValidArgs: append(bench.WorkloadNames(), "all"),
		RunE: func(c *cobra.Command, args []string) (err error) {
			workload := "switch"
			if len(args) == 1 {
				workload = args[0]
			}
			if r.bench.Workloads, err = bench.ParseWorkloads(workload); err != nil {
				return err
			}
			if err := notEmpty(c, "report", "swap"); err != nil {
				return err
			}
			if r.swap != "" {
				if workload != "switch" {
					return fmt.Errorf("bench %s: --swap measures the switch alone: leave %[1]s out", workload)
				}
				return l.benchSwap(c.Context(), r)
			}
			return l.measured(c.Context(), r, r.show)
		},
	}
	addBenchFlags(c, &r.options)
	flags := c.Flags()
	flags.BoolVar(&r.json, "json", false, "print one JSON document")
	flags.BoolVar(&r.csv, "csv", false, "print a line for each row, separated by commas")
	flags.BoolVar(&r.benchstat, "benchstat", false, "print a line for each sample, as Go's benchmarks do")
	c.MarkFlagsMutuallyExclusive("json", "csv", "benchstat")
	flags.DurationVar(&r.bench.Limit, "time", bench.DefaultLimit,
		"without --rounds, measure each workload for at most this `TIME`")
	setRemedy(flags.Lookup("time"), "give a time such as 10s")
	addFolderFlag(c, &r.swap, "swap", fmt.Sprintf("measure the swap of lab %s in `DIR` beside the project's",
		submission.Lab().Number), "name the folder with the swap")
	addReportFlag(c, &r.report)
	complete(c, "time")
	c.AddCommand(l.compareCommand())
	return c
}

// notEmpty returns an error if one of the flags is given an empty value.
func notEmpty(c *cobra.Command, names ...string) error {
	for _, name := range names {
		if flag := c.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
			return wrongValue(flag, "")
		}
	}
	return nil
}

// addFolderFlag adds a flag that names a folder.
func addFolderFlag(c *cobra.Command, dir *string, name, usage, remedy string) {
	c.Flags().StringVar(dir, name, "", usage)
	setRemedy(c.Flags().Lookup(name), remedy)
	if err := c.MarkFlagDirname(name); err != nil {
		panic(err)
	}
}

// addReportFlag adds the flag of bench and predict that names the folder of a page.
func addReportFlag(c *cobra.Command, dir *string) {
	addFolderFlag(c, dir, "report", "write a page for browsers, "+benchreport.PageFile+", and a drawing into `DIR`",
		"name a folder; it is made if need be")
}

// addBenchFlags adds the flags that bench, predict and run have.
func addBenchFlags(c *cobra.Command, o *options) {
	var quick bool
	c.Flags().IntVar(&o.bench.Rounds, "rounds", 0,
		"samples of each mechanism (default: until the ratios are narrow)")
	c.Flags().BoolVar(&quick, "quick", false, fmt.Sprintf("short for --rounds %d", quickRounds))
	c.MarkFlagsMutuallyExclusive("quick", "rounds")
	complete(c, "rounds")
	// These checks come before cobra's, whose messages name no remedy.
	c.PreRunE = func(*cobra.Command, []string) error {
		const noTable, one = "without the table there is nothing to sample", "one form is printed"
		const fixed = "a given number of samples takes the time that it takes"
		if err := errors.Join(notBoth(c, "json", "csv", one), notBoth(c, "json", "benchstat", one),
			notBoth(c, "csv", "benchstat", one), notBoth(c, "quick", "rounds", "both say how many samples to take"),
			notBoth(c, "time", "quick", fixed), notBoth(c, "time", "rounds", fixed),
			notBoth(c, "no-table", "quick", noTable), notBoth(c, "no-table", "rounds", noTable)); err != nil {
			return err
		}
		if quick {
			o.bench.Rounds = quickRounds
		}
		if o.bench.Rounds < 0 || c.Flags().Changed("rounds") && o.bench.Rounds == 0 {
			return wrongValue(c.Flags().Lookup("rounds"), strconv.Itoa(o.bench.Rounds))
		}
		if o.bench.Limit < 0 || c.Flags().Changed("time") && o.bench.Limit == 0 {
			return wrongValue(c.Flags().Lookup("time"), o.bench.Limit.String())
		}
		return checkEnvironment()
	}
}

// measured measures workloads, and gives the report to show. With --report it also writes the page, with the guesses
// that show returns.
func (l *lab) measured(
	ctx context.Context, r benchRequest, show func(io.Writer, *bench.Report) ([]predict.Compared, error),
) error {
	if r.report != "" { // an impossible folder is found before something is measured
		if err := os.MkdirAll(r.report, 0o755); err != nil {
			return failure{fmt.Errorf("--report: %w", err)}
		}
	}
	found, err := measure(ctx, r.bench, newProgress(l.stderr, r.json))
	if err != nil && r.hint != "" && ctx.Err() == nil {
		err = fmt.Errorf("%w: %s", err, r.hint)
	}
	err = errors.Join(err, release())
	if found != nil && len(found.Groups) > 0 && (err == nil || ctx.Err() != nil) {
		guesses, failed := show(l.stdout, found)
		if failed == nil && r.report != "" {
			if failed = benchreport.Write(r.report, found, guesses...); failed == nil {
				fmt.Fprintf(l.stderr, "%s: open it in a browser\n", filepath.Join(r.report, benchreport.PageFile))
			}
		}
		err = errors.Join(err, failed)
	}
	if err != nil {
		return failure{err}
	}
	return nil
}

// show writes what was found in the form that is asked for.
func (r *benchRequest) show(w io.Writer, found *bench.Report) ([]predict.Compared, error) {
	switch {
	case r.json:
		return nil, found.WriteJSON(w)
	case r.csv:
		return nil, found.WriteCSV(w)
	case r.benchstat:
		return nil, found.WriteBenchstat(w)
	}
	p := &page{screen: screenOf(w)}
	writeCosts(p, found)
	if r.swap != "" {
		p.say("yours is the swap in %s. asm-nofp saves the same registers as the lab's; asm saves the floating-point "+
			"control words, too.", r.swap)
	}
	return nil, p.writeTo(w)
}

// benchSwap measures the swap in a folder beside the mechanisms that are nearest to it.
func (l *lab) benchSwap(ctx context.Context, r benchRequest) error {
	measured := false
	err := submission.With(ctx, r.swap, func(yours bench.Mechanism) (err error) {
		measured = true
		w := bench.Switch()
		w.Rivals = append(slices.DeleteFunc(w.Rivals, func(m bench.Mechanism) bool {
			return !slices.Contains([]string{"asm", "asm-nofp", "ucontext"}, m.Name)
		}), yours)
		r.bench.Workloads = []bench.Workload{w}
		r.hint = fmt.Sprintf("fiberlab grade %s %s says where the swap goes wrong", submission.Lab().Number, r.swap)
		return l.measured(ctx, r, r.show)
	})
	if measured {
		return err
	}
	err = labcommand.Unbuilt(l.stderr, err)
	if errors.As(err, new(labcommand.Status)) {
		fmt.Fprintf(
			l.stderr, "fiberlab: --swap %s: the files do not build: they must hold the swap of lab %s, for %s\n",
			r.swap, submission.Lab().Number, runtime.GOARCH,
		)
	}
	return err
}

// measure measures and shows how long that may still take.
func measure(ctx context.Context, o bench.Options, p *progress) (*bench.Report, error) {
	phase := p.phase(switchCost, 1000)
	defer phase.end()
	return bench.Measure(ctx, o, func(workload string, left, all time.Duration) {
		phase.done.Store(int64(1000 * (all - left) / max(all, 1)))
		phase.left.Store(int64(left))
	})
}

func (l *lab) compareCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "Say what differs between two reports of bench --json, beyond noise",
		Long: `Reads two files that fiberlab bench --json has written, and compares the rows that both have, by a rank
test: of the samples of the base, and for other rows of their ratios to the base. A row has changed if the test says so
and the change exceeds 3 %.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.New("bench compare: name two files that fiberlab bench --json has written: OLD NEW")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			var reports []*bench.Report
			for _, name := range args {
				text, err := os.ReadFile(name)
				if err != nil {
					return fmt.Errorf("%w: name a file that fiberlab bench --json has written", err)
				}
				r, err := bench.ReadReport(text, name)
				if err != nil {
					return err
				}
				reports = append(reports, r)
			}
			changes, err := bench.Compare(reports[0], reports[1])
			if err != nil {
				return err
			}
			p := &page{screen: screenOf(l.stdout)}
			writeChanges(p, reports[0], reports[1], changes)
			return p.writeTo(l.stdout)
		},
	}
}

// writeCosts writes a table for each workload, and a sentence for each row.
func writeCosts(p *page, r *bench.Report) {
	p.say("%s", describe(r.Machine))
	if r.Machine.Emulated {
		p.say("%s Instructions stand in their place.", emulated)
	}
	if r.Stopped {
		p.say("Interrupted: this is what had been measured.")
	}
	for i := range r.Groups {
		if r.Machine.Emulated {
			writeInstructions(p, &r.Groups[i])
		} else {
			writeGroup(p, &r.Groups[i])
		}
	}
}

// describe is the machine in one line.
func describe(m bench.Machine) string {
	var parts []string
	for _, f := range m.Facts() {
		if f[1] != "" {
			parts = append(parts, f[0]+" "+f[1])
		}
	}
	return strings.Join(parts, "; ")
}

// writeInstructions writes instructions instead of times, which mean nothing under an emulator.
func writeInstructions(p *page, g *bench.Group) {
	t := newGrid("mechanism", "instructions")
	for _, r := range g.Rows {
		if r.Instructions > 0 {
			t.add(r.Name, thousands(int(r.Instructions)))
		}
	}
	if len(t.rows) == 0 {
		p.say("%s: the instructions are not counted.", g.Title)
	} else {
		p.table(t, "%s: instructions of the switch itself; those of other rivals are not counted", g.Title)
	}
	writeRemarks(p, g)
}

func writeRemarks(p *page, g *bench.Group) {
	for _, remark := range g.Remarks() {
		p.say("%s", remark)
	}
}

func writeGroup(p *page, g *bench.Group) {
	first := "mechanism"
	if g.Axis != "" {
		first += "/" + g.Axis
	}
	t := newGrid(first, "median", "95 % interval", "ratio", "95 % interval")
	for _, r := range g.Rows {
		ratio, interval := "?", "cannot be told"
		if r.Ratio != 0 {
			ratio, interval = bench.Figure(r.Ratio), bench.Span(r.RatioLow, r.RatioHigh, "")
		}
		t.add(g.Label(&r), bench.Figure(r.Median), bench.Span(r.Low, r.High, ""), ratio, interval)
	}
	if len(g.Rows) == 0 {
		p.say("%s: this machine lacks each rival.", g.Title)
	} else {
		p.table(t, "%s: nanoseconds a %s, medians of %d samples taken in turn; ratios to %s",
			g.Title, strings.TrimPrefix(g.Unit, "ns a "), g.Rounds, g.Base)
	}
	if g.Noise != "" {
		p.say("No ratios are given: %s. Close other programs, and measure again, for longer.", g.Noise)
	}
	if g.Floor > 0 {
		p.say("The loop alone takes %s %s, which is part of the figures in C.", bench.Figure(g.Floor), g.Unit)
	}
	for _, r := range g.Rows {
		p.say("%s", r.Sentence)
	}
	writeRemarks(p, g)
}

func writeChanges(p *page, old, new *bench.Report, changes []bench.Change) {
	before, after := old.Machine, new.Machine
	before.Load, after.Load = "", ""
	if describe(before) != describe(after) {
		p.say("The machines differ.")
		p.say("old: %s", describe(before))
		p.say("new: %s", describe(after))
	}
	if before.Emulated || after.Emulated {
		p.say("%s", emulated)
	}
	t := newGrid("row", "old", "new", "what changed")
	for _, c := range changes {
		t.add(c.Group+" "+c.Name, bench.Figure(c.Old), bench.Figure(c.New), c.Sentence)
	}
	p.table(t, "Medians in nanoseconds; rank tests, of ratios where a base is named, or else of samples")
}
