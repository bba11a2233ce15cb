package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"fiberlab/labs"
	"fiberlab/labs/catalogue"
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
	"fiberlab/labs/record"
	"fiberlab/labs/sandbox"
	"fiberlab/labs/step"
)

// stepping is a command line of step.
type stepping struct {
	lab  *grade.Lab
	dir  string // empty: the lab's reference
	arch *machine.Arch
	seed uint64
	html string // the file; empty: none
	json bool
	list bool
}

// Step returns the command step. The program that runs it has called sandbox.Init.
func Step(stdin *os.File, stdout, stderr io.Writer) *cobra.Command {
	var o stepping
	var arch string
	numbers := steppable()
	c := &cobra.Command{
		Use:     "step [LAB] [DIR]",
		PreRunE: func(*cobra.Command, []string) error { return machine.Known() },
		Short:   "Step through a real switch, one instruction at a time",
		Long: fmt.Sprintf(
			`Builds a swap, runs it one instruction at a time, and shows what each instruction changed in the registers, in the
contexts and on the two stacks, with its source line: A swaps to B, B swaps back, and A swaps to B again. What the
grader calls wrong is marked at its instruction.

DIR has the files of lab LAB (%s), as for fiberlab grade. Without LAB, the Makefile in DIR says which lab it is; without
LAB and DIR the reference is shown.

On a terminal, the arrow keys go forward and back, and ? lists the other keys. Elsewhere all steps are printed.

Exit status: 0 it was shown; 2 the command line is wrong, or this machine lacks something; 3 the files do not
build; 130 interrupted.`,
			strings.Join(numbers, ", "),
		),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 2 {
				return fmt.Errorf("step %s: give a lab and one folder", strings.Join(args, " "))
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return numbers, cobra.ShellCompDirectiveDefault
			}
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("html") && o.html == "" {
				return errors.New("--html has no value: name the file that gets the page")
			}
			if o.json && (o.html != "" || o.list) || o.html != "" && o.list {
				return errors.New("--html, --json and --list each say how to show it: give one of them")
			}
			if err := o.choose(args, arch); err != nil {
				return err
			}
			if !c.Flags().Changed("seed") {
				o.seed = grade.NewSeed()
			}
			r, err := o.record(c.Context())
			if err = Unbuilt(stderr, err); err != nil {
				return err
			}
			return o.show(c.Context(), r, stdin, stdout)
		},
	}
	c.Flags().StringVar(&o.html, "html", "", "write a page for browsers to `FILE`; - is the standard output")
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON document")
	c.Flags().BoolVar(&o.list, "list", false, "print all steps on a terminal, too")
	c.Flags().Uint64Var(&o.seed, "seed", 0, "draw the values from `NUMBER` (default: another one each time)")
	c.Flags().StringVar(&arch, "arch", "",
		"build for and run on `NAME`: amd64 or arm64 (default: this machine's, or the lab's)")
	alone := "it takes no value: leave it out or give it alone"
	c.SetFlagErrorFunc(
		flagErrors(
			map[string]string{
				"seed": seedRemedy, "arch": archRemedy, "html": "name the file that gets the page", "json": alone,
				"list": alone,
			},
		),
	)
	for flag, values := range map[string][]string{"arch": {machine.AMD64.Name, machine.ARM64.Name}, "seed": nil} {
		complete := cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
		if err := c.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(err)
		}
	}
	return c
}

// steppable returns the numbers of the labs that have a switch to step through.
func steppable() (numbers []string) {
	for _, l := range catalogue.All() {
		if l.Show != nil {
			numbers = append(numbers, l.Number)
		}
	}
	return numbers
}

// labLine is the line of a lab's Makefile that says which lab it is.
var labLine = regexp.MustCompile(`(?m)^LAB *= *([0-9]+) *$`)

// labOf returns the number of the lab whose Makefile lies in dir; empty if there is none.
func labOf(dir string) string {
	path := filepath.Join(dir, "Makefile")
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > sandbox.MaxFileSize {
		return ""
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	if found := labLine.FindSubmatch(text); found != nil {
		return string(found[1])
	}
	return ""
}

// choose finds the lab, the folder and the architecture. A first argument that is no number of a lab is a folder; its
// Makefile says which lab it belongs to. Without one, it is the first lab about the architecture.
func (o *stepping) choose(args []string, arch string) error {
	var err error
	named := len(args) > 0 && args[0] != "" && strings.Trim(args[0], "0123456789") == ""
	if named {
		if o.lab, err = catalogue.Find(args[0]); err != nil {
			return err
		}
		if o.lab.Show == nil {
			return fmt.Errorf(
				"lab %s has no switch to step through: choose one of %s", o.lab.Number, strings.Join(steppable(), ", "),
			)
		}
		if o.arch, err = chooseArch(o.lab, arch); err != nil {
			return err
		}
		o.dir = folder(o.lab, args[1:])
		return nil
	}
	if len(args) == 2 {
		return fmt.Errorf("step %s: %q is no lab: give its number", strings.Join(args, " "), args[0])
	}
	if len(args) == 1 {
		if o.dir = args[0]; o.dir == "" {
			return errors.New("DIR is empty: leave it out, or name the folder with what was written")
		}
		if number := labOf(o.dir); number != "" {
			return o.choose([]string{number, o.dir}, arch)
		}
	}
	o.arch = machine.Native()
	if arch != "" {
		if o.arch, err = machine.ByName(arch); err != nil {
			return fmt.Errorf("--arch %s: %s", arch, archRemedy)
		}
	}
	for _, l := range catalogue.All() { // the first about this architecture
		if l.Show != nil && slices.Contains(l.Arches, o.arch) {
			o.lab = l
			return nil
		}
	}
	return fmt.Errorf("no lab shows a swap on %s", o.arch.Name)
}

// record builds the files, runs them step by step, and adds what the grader says.
func (o *stepping) record(ctx context.Context) (all *record.Recording, err error) {
	dir := o.dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "fiberlab-step-"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		reference, err := fs.Sub(labs.References, path.Join(o.lab.Number, "reference"))
		if err != nil {
			return nil, err
		}
		if found, err := fs.Glob(reference, "*.[chS]"); err != nil || len(found) == 0 {
			return nil, fmt.Errorf(
				"this copy of fiberlab has no references: name a lab and a folder, such as %s labs/%s", o.lab.Number,
				o.lab.Number,
			)
		}
		if err := os.CopyFS(dir, reference); err != nil {
			return nil, err
		}
	}
	options := grade.Options{Arch: o.arch, Dir: dir, Seed: o.seed, Emulator: emulatorOf(o.arch)}
	lab := *o.lab
	// fiberlab's own switch says by these what is wrong; here are no points to be had
	lab.May = append(slices.Clone(lab.May), "strlen", "write")
	_, err = lab.With(ctx, options, func(b *grade.Bench) (*grade.Report, error) {
		parts, err := o.lab.Show(ctx, b)
		if err != nil && len(parts) == 0 {
			return nil, err
		}
		if all, err = step.Join(o.lab.Title, parts); err != nil {
			return nil, err
		}
		report, err := o.lab.Examine(ctx, b, nil)
		if err != nil {
			return nil, err
		}
		for _, item := range report.Items {
			for _, f := range item.Faults {
				step.AddFinding(all, f.Place, f.Text, f.Section)
			}
		}
		return report, nil
	})
	return all, err
}

// show shows the recording in the way that the command line says.
func (o *stepping) show(ctx context.Context, r *record.Recording, stdin *os.File, stdout io.Writer) error {
	if o.json {
		return step.JSON(stdout, r)
	}
	p, err := step.Play(r)
	if err != nil {
		return err
	}
	if o.html == "-" {
		return p.HTML(stdout)
	}
	if o.html != "" {
		f, err := os.Create(o.html)
		if err != nil {
			return fmt.Errorf("--html: %w", err)
		}
		return errors.Join(p.HTML(f), f.Close())
	}
	screen := step.ScreenOf(stdout)
	terminal, ok := stdout.(*os.File)
	if !ok || !screen.Terminal || o.list || !term.IsTerminal(int(stdin.Fd())) {
		return p.Listing(stdout, screen)
	}
	return step.Browse(ctx, p, stdin, terminal)
}
