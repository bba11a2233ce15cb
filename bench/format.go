package bench

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"golang.org/x/perf/benchfmt"
)

// label names the row, with its place on the group's axis if there is one.
func (g *Group) label(r *Row) string {
	if g.Axis == "" {
		return r.Name
	}
	return r.Name + "/" + strconv.FormatFloat(r.At, 'f', -1, 64)
}

// WriteCSV writes a line for each row of each group.
func (r *Report) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{"group", "row", "unit", "median", "low", "high", "ratio", "ratio_low", "ratio_high", "samples",
		"operations", "instructions", "executed", "system_calls", "sentence"}) // Error has what fails
	for i := range r.Groups {
		g := &r.Groups[i]
		for j := range g.Rows {
			row, calls := &g.Rows[j], ""
			if row.SystemCalls != nil {
				calls = exact(*row.SystemCalls)
			}
			_ = c.Write([]string{
				g.Name, g.label(row), g.Unit, exact(row.Median), exact(row.Low), exact(row.High), known(row.Ratio),
				known(row.RatioLow), known(row.RatioHigh), strconv.Itoa(len(row.Samples)), strconv.Itoa(row.Operations),
				known(row.Instructions), known(row.Executed), calls, row.Sentence,
			})
		}
	}
	c.Flush()
	return c.Error()
}

func exact(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

// known is empty for 0.
func known(x float64) string {
	if x == 0 {
		return ""
	}
	return exact(x)
}

// WriteBenchstat writes a line for each sample, in the format of Go's benchmarks, which benchstat reads.
func (r *Report) WriteBenchstat(w io.Writer) error {
	lines := benchfmt.NewWriter(w)
	for i := range r.Groups {
		g := &r.Groups[i]
		for j := range g.Rows {
			row := &g.Rows[j]
			for _, sample := range row.Samples {
				result := &benchfmt.Result{
					Name: benchfmt.Name(fmt.Sprintf("%s/%s", title(g.Name), g.label(row))), Iters: row.Operations,
					Values: []benchfmt.Value{{Value: sample, Unit: "ns/op"}},
				}
				result.SetConfig("goarch", r.Machine.Arch)
				result.SetConfig("pkg", "fiberlab/bench")
				result.SetConfig("cpu", r.Machine.CPU)
				if err := lines.Write(result); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// title is the name with a capital: Go's benchmarks have one.
func title(name string) string { return string(name[0]-'a'+'A') + name[1:] }
