package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"fiberlab/bench"
)

// writeText writes the report for people: with lines and bold heads to a terminal, without them to a
// file or a pipe.
func (r report) writeText(w io.Writer) error {
	var b strings.Builder
	decorated := isTerminal(w)
	if r.Pipeline != nil {
		r.Pipeline.writeText(&b, decorated)
	}
	if r.Pipeline != nil && r.SwitchCost != nil {
		b.WriteByte('\n')
	}
	if r.SwitchCost != nil {
		writeSwitchCost(&b, r.SwitchCost, decorated)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (p *pipelineReport) writeText(b *strings.Builder, decorated bool) {
	fmt.Fprintf(b, "%s\n%s text files, %s; %s others left alone\nworkers of each scheduler: %d\n\n",
		p.Dir, thousands(p.Files), megabytes(p.Bytes), thousands(p.OtherFiles), p.Workers)
	t := newTable(decorated, "counted by", "files", "words", "distinct", "tasks", "blocked", "switches", "time")
	t.AppendRow(table.Row{"plain loop", thousands(p.Files), thousands(p.Words), thousands(p.Distinct), "-", "-", "-", seconds(p.Seconds)})
	for _, br := range p.Backends {
		t.AppendRow(table.Row{br.Backend, thousands(br.Files), thousands(br.Words), thousands(br.Distinct),
			thousands(br.Tasks), thousands(br.Blocked), thousands(br.Switches), seconds(br.Seconds)})
	}
	fmt.Fprintln(b, t.Render())
	if p.Agree {
		fmt.Fprintln(b, "All agree, file by file and word by word.")
	} else {
		fmt.Fprintln(b, "They do NOT agree.")
	}
	for _, u := range p.Unreadable {
		fmt.Fprintf(b, "not read: %s: %s\n", u.Path, u.Error)
	}
	if len(p.Backends) > 0 && p.Backends[0].Transitions != nil {
		b.WriteByte('\n')
		p.writeTransitions(b, decorated)
	}
}

// writeTransitions has a row for each legal transition and a column for each backend.
func (p *pipelineReport) writeTransitions(b *strings.Builder, decorated bool) {
	fmt.Fprintf(b, "How often a fiber went from one state to another\n\n")
	head := []string{"transition"}
	for _, br := range p.Backends {
		head = append(head, br.Backend)
	}
	t := newTable(decorated, head...)
	for i, tr := range p.Backends[0].Transitions {
		row := table.Row{tr.From + " -> " + tr.To}
		for _, br := range p.Backends {
			row = append(row, thousands(int(br.Transitions[i].Count)))
		}
		t.AppendRow(row)
	}
	fmt.Fprintln(b, t.Render())
}

func writeSwitchCost(b *strings.Builder, rows []bench.Row, decorated bool) {
	fmt.Fprintf(b, "Nanoseconds a switch: median and quartiles of %d samples each, taken in turn\n\n", rows[0].Samples)
	t := newTable(decorated, "mechanism", "median", "q1", "q3", "ratio to asm")
	for _, r := range rows {
		t.AppendRow(table.Row{r.Mechanism, decimal(r.Median), decimal(r.Q1), decimal(r.Q3), decimal(r.Ratio)})
	}
	fmt.Fprintln(b, t.Render())
}

// newTable returns a table whose first column is text and whose others are numbers.
func newTable(decorated bool, head ...string) table.Writer {
	t := table.NewWriter()
	row := make(table.Row, len(head))
	columns := make([]table.ColumnConfig, len(head))
	for i, h := range head {
		row[i] = h
		columns[i] = table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight}
	}
	columns[0].Align, columns[0].AlignHeader = text.AlignLeft, text.AlignLeft
	t.AppendHeader(row)
	t.SetColumnConfigs(columns)
	t.SuppressTrailingSpaces()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	if decorated {
		if os.Getenv("NO_COLOR") == "" {
			style.Color.Header = text.Colors{text.Bold}
		}
	} else {
		style.Box = table.BoxStyle{PaddingRight: "  "}
		style.Options = table.OptionsNoBordersAndSeparators
	}
	t.SetStyle(style)
	return t
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// thousands is n with a comma after every three digits.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

func seconds(s float64) string { return fmt.Sprintf("%.2f s", s) }

// decimal is x with two digits after the point, or none if it is large.
func decimal(x float64) string {
	if x >= 1000 {
		return thousands(int(x + 0.5))
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}
