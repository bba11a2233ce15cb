package command

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fiberlab/labs/catalogue"
	"fiberlab/labs/grade"
)

const (
	pointsRemedy = "name a file like those that fiberlab points LAB prints"
	timesRemedy  = "name a file with lines such as alice,2030-01-31T23:59:00+01:00"
)

// PrintPoints returns the command points, by which a teacher begins a points.toml.
func PrintPoints(stdout io.Writer) *cobra.Command {
	var arch string
	c := &cobra.Command{
		Use:   "points LAB",
		Short: "Print the points of a lab, as a file to be edited",
		Long: `Prints a points.toml with the items of lab LAB and their points, and what else may stand in such a file: which
items are left out, what the lab is worth in the course, and what it costs to be late. grade and grade-all find it in
labs/LAB/points.toml of the checkout in whose folder build they are; --points names another one.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("points needs one lab: points 2")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			lab, err := catalogue.Find(args[0])
			if err != nil {
				return err
			}
			a, err := chooseArch(lab, arch)
			if err != nil {
				return err
			}
			if err := lab.On(a); err != nil {
				return err
			}
			_, err = io.WriteString(stdout, lab.PointsText(a))
			return err
		},
	}
	c.Flags().StringVar(&arch, "arch", "",
		"print the items on `NAME`: amd64 or arm64 (default: this machine's, or the lab's)")
	c.SetFlagErrorFunc(flagErrors(map[string]string{"arch": archRemedy}))
	return c
}

// weighed is the lab with the points of the file at path or, if that is empty, of points.toml in the lab's folder, if
// there is one. That is the folder of the checkout in whose folder build this program lies, never one below the current
// folder: it may be a submission.
func weighed(lab *grade.Lab, path string) (*grade.Lab, *grade.Points, error) {
	if path == "" {
		program, err := os.Executable()
		if err != nil {
			return nil, nil, err
		}
		switch build := filepath.Dir(program); {
		case lab.Folder != "":
			path = filepath.Join(lab.Folder, "points.toml")
		case filepath.Base(build) == "build":
			path = filepath.Join(filepath.Dir(build), lab.Home(), "points.toml")
		default:
			return lab, &grade.Points{}, nil
		}
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			return lab, &grade.Points{}, nil
		}
	}
	p, err := grade.ReadPoints(path)
	if err != nil {
		return nil, nil, err
	}
	w, err := lab.Weighed(p)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return w, p, nil
}

// readTimes reads when each student has handed in: lines of CSV with a name and a time of RFC 3339.
func readTimes(path string) (map[string]time.Time, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--times: %w: %s", err, timesRemedy)
	}
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff")))) // a mark that spreadsheets write
	r.FieldsPerRecord = 2
	lines, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: it needs lines with a student and a time", path, err)
	}
	times := map[string]time.Time{}
	for i, line := range lines {
		at, err := time.Parse(time.RFC3339, line[1])
		switch _, twice := times[line[0]]; {
		case err != nil && i == 0 && !strings.ContainsAny(line[1], "0123456789"): // the names of the columns
		case err != nil:
			return nil, fmt.Errorf("%s: %s: %q: write a time as 2030-01-31T23:59:00+01:00", path, line[0], line[1])
		case twice:
			return nil, fmt.Errorf("%s: %s stands there twice: keep the time that counts", path, line[0])
		default:
			times[line[0]] = at
		}
	}
	return times, nil
}
