package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fiberlab/labs/catalogue"
	"fiberlab/labs/class"
	"fiberlab/labs/formats"
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
	"fiberlab/labs/step"
)

const (
	seedRemedy = "give a number from 0 up, such as the one that a report names"
	archRemedy = "choose one of amd64 and arm64"
)

// Grade returns the command grade. Reports go to stdout, progress to stderr if it is a terminal. The program that runs
// it has called sandbox.Init.
func Grade(stdout, stderr io.Writer) *cobra.Command {
	var seed uint64
	var arch, points, as string
	var asJSON bool
	var numbers, rest []string
	for _, l := range catalogue.All() {
		numbers = append(numbers, l.Number)
	}
	c := &cobra.Command{
		Use:     "grade LAB [DIR]",
		PreRunE: func(*cobra.Command, []string) error { return machine.Known() },
		Short:   "Grade what was written for a lab",
		Long: fmt.Sprintf(
			`Builds the files of DIR that belong to lab LAB (%s), runs them confined, examines them from outside,
and gives points for each item. Of what is wrong it says what it saw, where, and which section of the lab's handout
to read again. DIR is labs/LAB below the current folder or, if there is none, the current folder.

The examination uses values drawn from a seed. The report names it; with the same seed the values are the same.

Exit status: 0 full marks; 1 points were lost; 2 the command line is wrong, or this machine lacks something;
3 the files do not build; 130 interrupted. With --as it is 0 whatever the points.`,
			strings.Join(numbers, ", "),
		),
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return fmt.Errorf("grade needs the number of a lab: one of %s", strings.Join(numbers, ", "))
			case len(args) > 2:
				return fmt.Errorf("grade %s: give a lab and one folder", strings.Join(args, " "))
			case len(args) == 2 && args[1] == "":
				return errors.New("DIR is empty: leave it out, or name the folder with what was written")
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return numbers, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(c *cobra.Command, args []string) error {
			lab, err := catalogue.Find(args[0])
			if err != nil {
				return err
			}
			if lab, _, err = weighed(lab, points); err != nil {
				return err
			}
			o := grade.Options{Seed: seed, Dir: folder(lab, args[1:]), Rest: rest}
			if o.Arch, err = chooseArch(lab, arch); err != nil {
				return err
			}
			if !c.Flags().Changed("seed") {
				o.Seed = grade.NewSeed()
			}
			o.Emulator = emulatorOf(o.Arch)
			if as != "" {
				return gradeAs(c.Context(), stdout, as, class.Options{Lab: lab, Arch: o.Arch, Emulator: o.Emulator}, o)
			}
			progress := step.ScreenOf(stderr).Terminal && !asJSON
			if progress {
				o.Progress = func(done int) { fmt.Fprintf(stderr, "\rexamined: %d of %d", done, len(lab.ItemsOn(o.Arch))) }
			}
			r, err := lab.Grade(c.Context(), o)
			if progress {
				fmt.Fprint(stderr, "\r\x1b[K")
			}
			if err != nil {
				return err
			}
			if asJSON {
				err = formats.WriteJSON(stdout, r)
			} else {
				_, err = io.WriteString(stdout, reportText(r, lab, step.ScreenOf(stdout).Columns))
			}
			switch {
			case err != nil:
				return err
			case r.Build != nil && r.Build.Failed:
				return Status(exitUnbuilt)
			case !r.Full():
				return Status(exitLost)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	c.Flags().Uint64Var(&seed, "seed", 0,
		"draw the values of the examination from `NUMBER` (default: another one each time)")
	c.Flags().StringVar(&arch, "arch", "",
		"build for and run on `NAME`: amd64 or arm64 (default: this machine's, or the lab's)")
	c.Flags().StringVar(&as, "as", "",
		"print what `FORMAT` wants: "+strings.Join(formats.Names(), ", ")+"; DIR may be an archive or a repository")
	c.MarkFlagsMutuallyExclusive("as", "json")
	c.Flags().StringArrayVar(&rest, "rest", nil,
		"take the files that DIR lacks from `FOLDER`: for a solution in labs, labs/LAB/reference (repeatable)")
	c.MarkFlagsMutuallyExclusive("as", "rest")
	c.Flags().StringVar(&points, "points", "",
		"give the points that `FILE` says (default: labs/LAB/points.toml of this checkout, if it exists)")
	c.SetFlagErrorFunc(
		flagErrors(
			map[string]string{
				"seed": seedRemedy, "arch": archRemedy, "points": pointsRemedy,
				"as":   "choose one of " + strings.Join(formats.Names(), ", "),
				"json": "it takes no value: leave it out or give it alone", "rest": "name a folder",
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

// gradeAs grades a submission as a course server hands it over, and prints the format of that server. The error is for
// what is not the submission's fault: lost points are none.
func gradeAs(ctx context.Context, stdout io.Writer, format string, o class.Options, from grade.Options) error {
	if !slices.Contains(formats.Names(), format) {
		return fmt.Errorf("--as %s: choose one of %s", format, strings.Join(formats.Names(), ", "))
	}
	if err := o.Lab.On(o.Arch); err != nil {
		return err
	}
	r, err := class.Alone(ctx, o, from.Dir, from.Seed)
	if err != nil {
		return err
	}
	return formats.Write(stdout, format, r)
}

// folder is where the files are.
func folder(lab *grade.Lab, args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	dir := lab.Home()
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return dir
	}
	return "."
}

// chooseArch is the architecture of that name; for an empty one this machine's or, if the lab is not about it, the
// lab's first.
func chooseArch(lab *grade.Lab, name string) (*machine.Arch, error) {
	if name == "" {
		if slices.Contains(lab.Arches, machine.Native()) {
			return machine.Native(), nil
		}
		return lab.Arches[0], nil
	}
	a, err := machine.ByName(name)
	if err != nil {
		return nil, fmt.Errorf("--arch %s: %s", name, archRemedy)
	}
	return a, nil
}

// emulatorOf is how programs of this machine's architecture run in an emulator, if this one does.
func emulatorOf(a *machine.Arch) []string {
	if a != machine.Native() {
		return nil
	}
	return strings.Fields(os.Getenv("FIBERLAB_EXEC"))
}
