package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"fiberlab/labs/catalogue"
	"fiberlab/labs/class"
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
	"fiberlab/labs/step"
)

// GradeAll returns the command grade-all. The summary goes to stdout, progress to stderr: on a terminal in one line,
// else a line for each submission. The program that runs it has called sandbox.Init.
func GradeAll(stdout, stderr io.Writer) *cobra.Command {
	var seed uint64
	var arch, points, times string
	var o class.Options
	c := &cobra.Command{
		Use:     "grade-all LAB DIR --out OUT",
		PreRunE: func(*cobra.Command, []string) error { return machine.Known() },
		Short:   "Grade the submissions of a class",
		Long: `Grades each submission in the folder DIR for lab LAB, several at a time, each confined. A submission is a
folder, a zip or tar archive, or a bare git repository (its last commit), with the name of the student.
Files in folders below count too: those of the folder labs/LAB, else those of the uppermost one.

OUT gets gradebook.csv, gradebook.json, index.html with a page of the class, and in the folder students a
page and a report for each student. If the command is interrupted or killed, the same command goes on from
there. It grades again what was handed in anew. All submissions are examined with the same seed.

Exit status: 0 all are graded; 1 the grader failed with some; 2 the command line is wrong, or this machine
lacks something; 130 interrupted.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 || args[1] == "" {
				return errors.New("grade-all needs a lab and the folder of the submissions: grade-all 2 DIR --out OUT")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) (err error) {
			if o.Lab, err = catalogue.Find(args[0]); err != nil {
				return err
			}
			var p *grade.Points
			if o.Lab, p, err = weighed(o.Lab, points); err != nil {
				return err
			}
			switch o.Weight, o.Late = p.Weight, p.Late; {
			case times == "" && !o.Late.Due.IsZero():
				return errors.New("the points have a due date: give --times FILE with when each student has handed in")
			case times != "" && o.Late.Due.IsZero():
				return errors.New("--times: the points have no due date: add due to points.toml, or leave --times out")
			case times != "":
				if o.Times, err = readTimes(times); err != nil {
					return err
				}
			}
			if o.Arch, err = chooseArch(o.Lab, arch); err != nil {
				return err
			}
			if err := o.Lab.On(o.Arch); err != nil {
				return err
			}
			if o.Dir = args[1]; o.Out == "" {
				return errors.New("--out is missing: name a new folder for the gradebook")
			}
			if o.Jobs < 0 {
				return fmt.Errorf("--jobs %d: %s", o.Jobs, jobsRemedy)
			}
			if c.Flags().Changed("seed") {
				o.Seed = &seed
			}
			o.Emulator = emulatorOf(o.Arch)
			students, skipped, err := class.Submissions(o.Dir)
			if err != nil {
				return err
			}
			for _, name := range skipped {
				fmt.Fprintf(stderr, "left out: %s\n", clean(name))
			}
			for _, name := range slices.Sorted(maps.Keys(o.Times)) {
				if students[name] == "" {
					fmt.Fprintf(stderr, "%s: %s has no submission in %s\n", times, clean(name), o.Dir)
				}
			}
			return gradeAll(c.Context(), o, stdout, stderr)
		},
	}
	c.Flags().StringVar(&o.Out, "out", "", "write the gradebook and the pages into the folder `OUT`")
	c.Flags().IntVar(&o.Jobs, "jobs", 0, "grade `N` submissions at a time (default: one a processor)")
	c.Flags().Uint64Var(&seed, "seed", 0,
		"draw the values of the examination from `NUMBER` (default: another one for each OUT)")
	c.Flags().StringVar(&arch, "arch", "",
		"build for and run on `NAME`: amd64 or arm64 (default: this machine's, or the lab's)")
	c.Flags().StringVar(&points, "points", "",
		"give the points that `FILE` says (default: labs/LAB/points.toml of this checkout, if it exists)")
	c.Flags().StringVar(&times, "times", "", "read from `FILE` (CSV: student, time) who was late")
	c.SetFlagErrorFunc(
		flagErrors(
			map[string]string{
				"seed": seedRemedy, "arch": archRemedy, "jobs": jobsRemedy, "out": "name a folder for the gradebook",
				"points": pointsRemedy, "times": timesRemedy,
			},
		),
	)
	return c
}

const jobsRemedy = "give a number from 0 up; 0 is one a processor"

func gradeAll(ctx context.Context, o class.Options, stdout, stderr io.Writer) error {
	began, terminal := time.Now(), step.ScreenOf(stderr).Terminal
	graded := 0
	o.Progress = func(done, of int, r *class.Record) {
		graded = done
		if terminal {
			left := time.Since(began) / time.Duration(done) * time.Duration(of-done)
			fmt.Fprintf(stderr, "\r\x1b[Kgraded: %d of %d, about %v left", done, of, left.Round(time.Second))
			return
		}
		result := "not graded"
		if r.Report != nil {
			result = fmt.Sprintf("%d of %d points", r.Report.Points, r.Report.Of)
		}
		fmt.Fprintf(stderr, "%d of %d: %s: %s\n", done, of, clean(r.Student), result)
	}
	b, err := class.Grade(ctx, o)
	if terminal {
		fmt.Fprint(stderr, "\r\x1b[K")
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(stderr, "%d are graded: the same command goes on from there\n", graded)
	}
	if err != nil {
		return err
	}
	mean, median := b.Figures()
	fmt.Fprintf(
		stdout, "%d submissions: %d examined, %d could not be taken or built, %d not graded.\n"+
			"Points: mean %.1f, median %.1f of %d. Seed: %d.\n%s\n",
		len(b.Students), b.Examined, b.Unbuilt, b.Failed, mean, median, b.Of, b.Seed, filepath.Join(o.Out, "index.html"),
	)
	for _, row := range b.Students {
		if row.Failed {
			fmt.Fprintf(stdout, "%s: %s\n", clean(row.Student), clean(row.Note))
		}
	}
	if b.Failed > 0 {
		return Status(exitLost)
	}
	return nil
}
