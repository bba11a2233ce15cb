package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fiberlab/cmd/fiberlab/demo"
	labcommand "fiberlab/labs/command"
	"fiberlab/sched"
	"fiberlab/sched/forkjoin"
)

// demoOptions are the flags and arguments of a demonstration.
type demoOptions struct {
	demo.JoinOptions
	file  string // with a program of the user
	traps []demo.Trap
	json  bool
}

func (l *lab) demoCommand() *cobra.Command {
	var o demoOptions
	c := &cobra.Command{
		Use:   "demo FILE",
		Short: "Show how programs of several threads go wrong, and why",
		Long: `Runs the little program in FILE under every schedule that it has, and shows the shortest one by which it
goes wrong, line by line and in words. Each thread is a fiber, and runs a line when the schedule chooses it: a fault
that comes once in a million runs is found every time. Two commands show programs that fiberlab has: lost-wakeup and
deadlock.

` + demo.Grammar + `
Exit status: 0 no schedule goes wrong; 1 some do, or there are too many to try; 2 the command line or the program is
wrong; 130 interrupted.`,
		Args: func(c *cobra.Command, args []string) (err error) {
			o.file, err = programFile(c, args)
			return err
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if o.file == "" {
				return c.Help()
			}
			return l.explore(c.Context(), o)
		},
	}
	addDemoFlags(c, &o)
	c.AddCommand(l.deadlockCommand(), l.lostWakeupCommand())
	return c
}

// programFile returns the file that args name, or nothing if there are no args. A word that is no file may have been
// meant as a command.
func programFile(c *cobra.Command, args []string) (string, error) {
	switch {
	case len(args) == 0:
		return "", nil
	case args[0] == "":
		return "", errors.New("FILE is empty: name a file with a little program")
	case len(args) > 1:
		return "", fmt.Errorf("demo %s: give one FILE", strings.Join(args, " "))
	}
	if _, err := os.Stat(args[0]); errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(args[0], "./") {
		return "", labcommand.KnownCommand(c, args)
	}
	return args[0], nil
}

// mostText is how long a little program may be, in bytes.
const mostText = 64 << 10

// readProgram reads and parses a little program.
func readProgram(name string) (*demo.Program, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%w: name a file with a little program", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostText+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: name a file with a little program", err)
	case len(text) > mostText || !utf8.Valid(text):
		return nil, fmt.Errorf(
			"%s is not a text of at most %d KB: name a file with a little program", name, mostText>>10,
		)
	}
	p, err := demo.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// explored is a program of the user, and what its schedules lead to.
type explored struct {
	File    string           `json:"file"`
	Program *demo.Program    `json:"program"`
	Found   demo.Exploration `json:"found"`
	All     bool             `json:"all_schedules"` // false: there are more than were tried
}

// explore tries the schedules of the program in a file. It fails if one of them goes wrong.
func (l *lab) explore(ctx context.Context, o demoOptions) error {
	p, err := readProgram(o.file)
	if err != nil {
		return err
	}
	r := report{Machine: thisMachine(), Explored: &explored{File: o.file, Program: p}}
	r.Explored.Found, err = p.Explore(ctx, o.Scheduler)
	r.Explored.All = err == nil
	many := errors.Is(err, demo.ErrManySchedules)
	if many {
		err = nil
	}
	err = l.finish(options{json: o.json}, r, err)
	switch {
	case err != nil:
		return err
	case r.Explored.Found.Wrong > 0:
		return labcommand.Status(exitFailed)
	case many:
		return failure{fmt.Errorf("%s: %w", o.file, demo.ErrManySchedules)}
	}
	return nil
}

func (l *lab) lostWakeupCommand() *cobra.Command {
	var o demoOptions
	names := trapNames(l.traps())
	c := &cobra.Command{
		Use:   "lost-wakeup [TRAP]",
		Short: "Show four traps of condition variables, step by step",
		Long: fmt.Sprintf(
			`Runs little programs that use a lock and a condition variable wrongly. Their threads are fibers,
their lock and their condition are those of package fibersync, and a schedule decides which thread
runs the next line. So a fault that comes once in a million runs comes every time.

For each trap, the faulty program runs under all schedules that there are. The shortest schedule that
ends badly is shown, line by line and in words. Then the repaired program runs under all of its
schedules, and is shown under the same one.

TRAP is one of %s (default: all).

Exit status: 0 the faulty programs went wrong and the repaired ones did not; 1 otherwise; 2 the command
line is wrong; 130 interrupted.`,
			strings.Join(names, ", "),
		),
		Args: func(_ *cobra.Command, args []string) (err error) {
			o.traps, err = chosenTraps(l.traps(), args)
			return err
		},
		ValidArgsFunction:     cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp),
		DisableFlagsInUseLine: true, // the line would be longer than a narrow screen
		RunE: func(c *cobra.Command, _ []string) error {
			return l.lostWakeup(c.Context(), o)
		},
	}
	addDemoFlags(c, &o)
	return c
}

func (l *lab) deadlockCommand() *cobra.Command {
	var o demoOptions
	var form string
	c := &cobra.Command{
		Use:   "deadlock",
		Short: "Show a thread pool whose tasks wait for one another until nothing goes on",
		Long: `Runs one program three times: some tasks, the parents, each of which forks a child and waits for it.

On a plain pool a wait blocks its thread. With as many parents as threads, all threads wait for tasks that
no thread is left to run: the pool is stuck. The command finds that, says who waits for whom, and takes the
pool apart. Where a wait helps, it runs the child itself if no other thread has begun it. Where a wait parks,
the parent's fiber waits, and its thread runs other fibers. Both finish.

With fewer parents than threads the plain pool finishes, too.

Exit status: 0 the plain pool was stuck and the others finished; 1 otherwise; 2 the command line is wrong;
130 interrupted.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("deadlock %s: it takes no arguments", args[0])
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			if !c.Flags().Changed("parents") {
				o.Parents = o.Scheduler.Workers
			}
			for _, given := range []struct {
				flag string
				n    int
			}{{"workers", o.Scheduler.Workers}, {"parents", o.Parents}} {
				if given.n < 1 || given.n > mostWorkers {
					return wrongValue(c.Flags().Lookup(given.flag), strconv.Itoa(given.n))
				}
			}
			forms, err := parseNames(c.Flags().Lookup("form"), []string{form}, forkjoin.ParseForm)
			if err != nil {
				return err
			}
			o.Form = forms[0]
			return l.deadlock(o)
		},
	}
	addDemoFlags(c, &o)
	fromOne := fmt.Sprintf("give a number from 1 to %d", mostWorkers)
	c.Flags().IntVar(&o.Scheduler.Workers, "workers", 2, "threads of each pool")
	c.Flags().IntVar(&o.Parents, "parents", 0, "tasks that wait for a child each (default: as many as workers)")
	c.Flags().StringVar(&form, "form", forkjoin.Locked.String(),
		"the pool that helps has the form `NAME`: "+anyOf(formNames()))
	setRemedy(c.Flags().Lookup("form"), "choose one of "+strings.Join(formNames(), ", "))
	complete(c, "form", formNames()...)
	for _, name := range []string{"workers", "parents"} {
		setRemedy(c.Flags().Lookup(name), fromOne)
		complete(c, name)
	}
	return c
}

// addDemoFlags adds the flags of all demonstrations.
func addDemoFlags(c *cobra.Command, o *demoOptions) {
	var backend, policy string
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON document")
	c.Flags().StringVar(&backend, "backend", "", "run on fibers of the backend `NAME`: "+anyOf(backendNames()))
	c.Flags().StringVar(&policy, "policy", policyNames()[0], "schedule by the policy `NAME`: "+anyOf(policyNames()))
	complete(c, "backend", backendNames()...)
	complete(c, "policy", policyNames()...)
	c.PreRunE = func(*cobra.Command, []string) error {
		policies, err := parseNames(c.Flags().Lookup("policy"), []string{policy}, sched.ParsePolicy)
		if err != nil {
			return err
		}
		o.Scheduler.Policy = policies[0]
		if c.Flags().Changed("backend") {
			backends, err := parseNames(c.Flags().Lookup("backend"), []string{backend}, parseBackend)
			if err != nil {
				return err
			}
			o.Scheduler.Backend = backends[0]
		}
		o.Scheduler.Name = c.Name()
		return checkEnvironment()
	}
}

func formNames() []string {
	var names []string
	for _, f := range forkjoin.Forms() {
		names = append(names, f.String())
	}
	return names
}

// trapNames lists the arguments of demo lost-wakeup.
func trapNames(traps []demo.Trap) []string {
	var names []string
	for _, t := range traps {
		names = append(names, t.Name)
	}
	return names
}

// chosenTraps returns the trap that args name, or all.
func chosenTraps(all []demo.Trap, args []string) ([]demo.Trap, error) {
	if len(args) == 0 {
		return all, nil
	}
	names := trapNames(all)
	i := slices.Index(names, args[0])
	if i < 0 || len(args) > 1 {
		return nil, fmt.Errorf(
			"lost-wakeup %s: name one trap of %s, or none for all", strings.Join(args, " "), strings.Join(names, ", "),
		)
	}
	return all[i : i+1], nil
}

// lostWakeup shows the traps.
func (l *lab) lostWakeup(ctx context.Context, o demoOptions) error {
	r := report{Machine: thisMachine()}
	var err error
	for _, t := range o.traps {
		var shown *demo.Shown
		if shown, err = t.Show(ctx, o.Scheduler); err != nil {
			break
		}
		r.LostWakeup = append(r.LostWakeup, shown)
	}
	return l.finish(options{json: o.json}, r, err)
}

// deadlock shows the stuck pool.
func (l *lab) deadlock(o demoOptions) error {
	r := report{Machine: thisMachine()}
	var err error
	r.Deadlock, err = demo.CompareJoins(o.JoinOptions)
	return l.finish(options{json: o.json}, r, err)
}

// notShown is an error that names each demonstration that has not shown what it should, or nil.
func (r report) notShown() error {
	var errs []error
	for _, t := range r.LostWakeup {
		if !t.Verdict {
			errs = append(errs, fmt.Errorf(
				"%s: the faulty program goes wrong under %d of %d schedules, the repaired one under %d of %d: "+
					"the trap was not shown",
				t.Name, t.Goes.Wrong, t.Goes.Schedules, t.Then.Wrong, t.Then.Schedules,
			))
		}
	}
	if d := r.Deadlock; d != nil && !d.Verdict {
		switch {
		case d.Plain.Finished:
			errs = append(errs, fmt.Errorf(
				"the plain pool finished: it has %s and %s, and one that is free runs the children: give "+
					"--parents %d or more",
				counted(d.Parents, "parent"), counted(d.Threads, "thread"), d.Threads,
			))
		default:
			errs = append(errs, errors.New(
				"a pool whose waits help or park did not finish with the right results: the scheduler or the "+
					"pool is at fault",
			))
		}
	}
	return errors.Join(errs...)
}

// remedyOf is the annotation of a flag that says which values there are, where remedies has other ones for its name.
const remedyOf = "remedy"

func setRemedy(flag *pflag.Flag, text string) {
	flag.Annotations = map[string][]string{remedyOf: {text}}
}
