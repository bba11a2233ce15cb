package main

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	labcommand "fiberlab/labs/command"
)

// plainColumns is how wide text is on what is no terminal.
const plainColumns = 80

// narrowest is the width of a column below which a drawing becomes a list.
const narrowest = 20

// width is how many characters a line of running text may have.
func (s screen) width() int {
	if s.columns == 0 {
		return plainColumns
	}
	return min(s.columns, labcommand.Widest)
}

// columns are texts side by side, a column for each thread.
type columns struct {
	label string // the head of the labels; empty: rows have none
	heads []string
	rows  []columnRow
}

// columnRow is a row: a label, and a text for each column.
type columnRow struct {
	label string
	cells []string
}

// add adds a row that has text in one column alone.
func (c *columns) add(label string, column int, text string) {
	row := columnRow{label, make([]string, len(c.heads))}
	row.cells[column] = text
	c.rows = append(c.rows, row)
}

const (
	labelWidth = 4
	columnGap  = "  "
)

// render returns the rows, each line with a newline. If a screen is too narrow for the columns, each text has a line
// behind its column's head or, where rows have no labels, below it.
func (c *columns) render(s screen) string {
	width := (s.width()-labelWidth)/len(c.heads) - len(columnGap)
	if width < narrowest {
		return c.list(s)
	}
	width = min(width, c.widest())
	var b strings.Builder
	for _, row := range append([]columnRow{{c.label, c.heads}}, c.rows...) {
		var cells [][]string
		height := 0
		for _, cell := range row.cells {
			lines := foldCell(cell, width)
			cells, height = append(cells, lines), max(height, len(lines))
		}
		for i := range height {
			label := ""
			if i == 0 {
				label = row.label
			}
			line := fmt.Sprintf("%*s", labelWidth, label)
			for _, lines := range cells {
				piece := ""
				if i < len(lines) {
					piece = lines[i]
				}
				line += columnGap + text.Pad(piece, width, ' ')
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	return b.String()
}

// widest is the length of the longest text.
func (c *columns) widest() int {
	widest := 0
	for _, row := range append([]columnRow{{c.label, c.heads}}, c.rows...) {
		for _, cell := range row.cells {
			widest = max(widest, len(cell))
		}
	}
	return widest
}

// list is render for a narrow screen: the rows one by one or, if they have no labels, the columns.
func (c *columns) list(s screen) string {
	var lines []string
	for i, head := range c.heads {
		if c.label == "" {
			lines = append(lines, head)
		}
		for _, row := range c.rows {
			if c.label == "" && row.cells[i] != "" {
				lines = append(lines, foldCell(row.cells[i], s.width())...)
			}
		}
	}
	for _, row := range c.rows {
		for i, cell := range row.cells {
			if c.label != "" && cell != "" {
				lines = append(lines, foldCell(row.label+" "+c.heads[i]+": "+cell, s.width())...)
			}
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// foldCell breaks a text between words into lines of that width, where it can; all but the first are indented.
func foldCell(cell string, width int) []string {
	const indent = "     "
	var lines []string
	line := ""
	for piece := range strings.SplitAfterSeq(cell, " ") {
		if strings.TrimSpace(line) != "" && len(line)+len(strings.TrimRight(piece, " ")) > width {
			lines = append(lines, strings.TrimRight(line, " "))
			line = indent
		}
		line += piece
	}
	return append(lines, strings.TrimRight(line, " "))
}
