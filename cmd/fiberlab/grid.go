package main

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// grid is a table with text in its first column and numbers in the others. On a screen that is too narrow
// for it, it becomes a list of records: a small table for each row, with a line for each cell.
type grid struct {
	head []string
	rows [][]string
}

func newGrid(head ...string) *grid { return &grid{head: head} }

// add adds a row, with as many cells as the head.
func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

// render returns the lines of the table, without a newline after the last one.
func (g *grid) render(s screen) string {
	lines := g.lines(s, g.head, g.rows)
	if s.columns == 0 || text.LongestLineLen(lines) <= s.columns {
		return lines
	}
	var records []string
	for _, row := range g.rows {
		var cells [][]string
		for i := range g.head[1:] {
			cells = append(cells, []string{g.head[i+1], row[i+1]})
		}
		records = append(records, g.lines(s, []string{row[0], ""}, cells))
	}
	return strings.Join(records, "\n")
}

// lines draws a table. On a terminal it has rules and a bold head, in a file or a pipe neither.
func (g *grid) lines(s screen, head []string, rows [][]string) string {
	t := table.NewWriter()
	columns := make([]table.ColumnConfig, len(head))
	for i := range head {
		columns[i] = table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight}
	}
	columns[0].Align, columns[0].AlignHeader = text.AlignLeft, text.AlignLeft
	t.SetColumnConfigs(columns)
	t.AppendHeader(tableRow(head))
	for _, row := range rows {
		t.AppendRow(tableRow(row))
	}
	t.SuppressTrailingSpaces()
	style := table.StyleLight
	if s.ascii {
		style = table.StyleDefault
	}
	style.Format.Header = text.FormatDefault
	if s.bold {
		style.Color.Header = text.Colors{text.Bold}
	}
	if !s.terminal {
		style.Box = table.BoxStyle{PaddingRight: "  "}
		style.Options = table.OptionsNoBordersAndSeparators
	}
	t.SetStyle(style)
	return t.Render()
}

func tableRow(cells []string) table.Row {
	row := make(table.Row, len(cells))
	for i, cell := range cells {
		row[i] = cell
	}
	return row
}
