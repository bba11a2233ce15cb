package command

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"fiberlab/labs/catalogue"
	"fiberlab/labs/grade"
)

const pointsRemedy = "name a file like those that fiberlab points LAB prints"

// PrintPoints returns the command points, by which a teacher begins a points.toml.
func PrintPoints(stdout io.Writer) *cobra.Command {
	var arch string
	c := &cobra.Command{
		Use:   "points LAB",
		Short: "Print the points of a lab, as a file to be edited",
		Long: `Prints a points.toml with the items of lab LAB and their points, and what else may stand in such a file: which
items are left out, what the lab is worth in the course, and what it costs to be late. In labs/LAB/points.toml below
the current folder, grade and grade-all find it; --points names another one.`,
		Args: cobra.ExactArgs(1),
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
	return c
}

// weighed is the lab with the points of the file at path or, if that is empty, of labs/NN/points.toml below the current
// folder, if there is one.
func weighed(lab *grade.Lab, path string) (*grade.Lab, *grade.Points, error) {
	if path == "" {
		path = filepath.Join(lab.Home(), "points.toml")
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
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r := csv.NewReader(file)
	r.FieldsPerRecord = 2
	lines, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: it needs lines with a student and a time", path, err)
	}
	times := map[string]time.Time{}
	for i, line := range lines {
		at, err := time.Parse(time.RFC3339, line[1])
		switch _, twice := times[line[0]]; {
		case err != nil && i == 0: // the names of the columns
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
