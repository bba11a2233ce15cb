package bench

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"
)

// Schema is the number of the layout of a Report as JSON. It changes when the meaning of a field does.
const Schema = 1

// Report is what a run of Measure has found.
type Report struct {
	Schema  int       `json:"schema"`
	Machine Machine   `json:"machine"`
	Started time.Time `json:"started"`
	Stopped bool      `json:"stopped,omitempty"`
	Groups  []Group   `json:"groups"`
}

// Group is one workload: its rivals, measured in turn.
type Group struct {
	Name   string   `json:"name"`
	Title  string   `json:"title"`
	Unit   string   `json:"unit"`            // of Samples, Median, Low, High and Floor: "ns a switch"
	Base   string   `json:"base"`            // the row to which ratios are taken
	Axis   string   `json:"axis,omitempty"`  // what At of the rows counts; empty: the rows are no curve
	Floor  float64  `json:"floor,omitempty"` // the same loop without the operation; 0: not measured
	Rounds int      `json:"rounds"`          // samples of each row
	Noise  string   `json:"noise,omitempty"` // why no ratio is given; empty: ratios are given
	Notes  []string `json:"notes,omitempty"` // limits of the group as a whole
	Rows   []Row    `json:"rows"`

	Marks   []Mark    `json:"marks,omitempty"` // of the axis
	Skipped []Skipped `json:"skipped,omitempty"`
}

// Row is what a rival costs. Costs are in the unit of the group.
type Row struct {
	Name       string    `json:"name"`
	At         float64   `json:"at,omitempty"` // where on the group's axis; rows of one name are one curve
	Samples    []float64 `json:"samples"`      // one for each round, in the order of rounds
	Operations int       `json:"operations"`   // of each sample
	Median     float64   `json:"median"`
	Low        float64   `json:"low"` // the 95 % interval of the median
	High       float64   `json:"high"`
	Ratio      float64   `json:"ratio,omitempty"` // to the base; 0: it cannot be told
	RatioLow   float64   `json:"ratio_low,omitempty"`
	RatioHigh  float64   `json:"ratio_high,omitempty"`
	Sentence   string    `json:"sentence"` // what the figures mean

	Instructions float64 `json:"instructions,omitempty"` // of an operation; 0: not known
	Listing      string  `json:"listing,omitempty"`      // the disassembly of a bare switch, an instruction a line

	SystemCalls *float64 `json:"system_calls,omitempty"` // of an operation; nil: not counted
	Executed    float64  `json:"executed,omitempty"`     // instructions, counted by the processor; 0: not
}

// Mark is a place on a group's axis, where a cache ends for example.
type Mark struct {
	At    float64 `json:"at"`
	Label string  `json:"label"`
}

// Skipped is a rival that this machine does not have.
type Skipped struct {
	Name   string `json:"name"`
	Why    string `json:"why"`
	Remedy string `json:"remedy,omitempty"` // the line that installs it
}

// WriteJSON writes r as one JSON document.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// ReadReport reads what WriteJSON wrote. The error names source.
func ReadReport(text []byte, source string) (*Report, error) {
	var r Report
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s is no report of fiberlab bench --json: %w", source, err)
	}
	if r.Schema != Schema {
		return nil, fmt.Errorf("%s has schema %d, and this program reads %d: measure again with fiberlab bench --json",
			source, r.Schema, Schema)
	}
	return &r, nil
}

// Group returns the group of that name, or nil.
func (r *Report) Group(name string) *Group {
	for i := range r.Groups {
		if r.Groups[i].Name == name {
			return &r.Groups[i]
		}
	}
	return nil
}

// Row returns the row of that name at that place, or nil.
func (g *Group) Row(name string, at float64) *Row {
	for i := range g.Rows {
		if g.Rows[i].Name == name && g.Rows[i].At == at {
			return &g.Rows[i]
		}
	}
	return nil
}

// Spread is the range of the middle half of the samples over their median.
func (r *Row) Spread() float64 { return spread(r.Samples, r.Median) }

// Remarks are the sentences below the rows: what the marks of the axis are, limits of the group, and what was skipped.
func (g *Group) Remarks() (list []string) {
	for _, m := range g.Marks {
		list = append(list, fmt.Sprintf("At %s %s: %s.", Whole(m.At), g.Axis, m.Label))
	}
	list = append(list, g.Notes...)
	for _, s := range g.Skipped {
		list = append(list, strings.TrimSuffix(fmt.Sprintf("Skipped: %s: %s: %s", s.Name, s.Why, s.Remedy), ": "))
	}
	return list
}

// Label names the row, with its place on the group's axis if there is one: asm, or asm/100.
func (g *Group) Label(r *Row) string {
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
				g.Name, g.Label(row), g.Unit, exact(row.Median), exact(row.Low), exact(row.High), known(row.Ratio),
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

// WriteBenchstat writes the machine, and a line for each sample, in the format of Go's benchmarks, for benchstat.
func (r *Report) WriteBenchstat(w io.Writer) error {
	lines := benchfmt.NewWriter(w)
	about := []benchfmt.Config{
		{Key: "goarch", Value: []byte(r.Machine.Arch), File: true}, {Key: "pkg", Value: []byte("fiberlab/bench"), File: true},
		{Key: "cpu", Value: []byte(r.Machine.CPU), File: true},
		{Key: "emulated", Value: strconv.AppendBool(nil, r.Machine.Emulated), File: true},
	}
	for i := range r.Groups {
		g := &r.Groups[i]
		name := strings.ToUpper(g.Name[:1]) + g.Name[1:] // Go's benchmarks have a capital
		for j := range g.Rows {
			row := &g.Rows[j]
			for _, sample := range row.Samples {
				if err := lines.Write(&benchfmt.Result{
					Config: about, Name: benchfmt.Name(name + "/" + g.Label(row)), Iters: row.Operations,
					Values: []benchfmt.Value{{Value: sample, Unit: "ns/op"}},
				}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
