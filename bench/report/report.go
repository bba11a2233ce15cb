// Package report shows what package bench has measured: as a page for browsers, and as a drawing.
package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fiberlab/bench"
	"fiberlab/bench/predict"
)

// The names of the files that Write makes.
const (
	PageFile    = "index.html"
	DrawingFile = "switch-cost.svg"
)

// Write writes the page of r into the folder dir, which it makes if need be, and the drawing of the workload "switch",
// if r has that. If people have guessed, the page begins with their guesses. It replaces earlier files. An error
// names the file.
func Write(dir string, r *bench.Report, guesses ...predict.Compared) error {
	var page, drawing bytes.Buffer
	if err := Page(&page, r, guesses...); err != nil {
		return err
	}
	files := map[string][]byte{PageFile: page.Bytes()}
	if g := r.Group("switch"); g != nil {
		title := g.Title + ", in " + g.Unit
		if r.Machine.Emulated {
			title += ", of an emulator: times mean nothing"
		}
		if err := writeSVG(&drawing, title, rowsSection(g).Plot); err != nil {
			return err
		}
		files[DrawingFile] = drawing.Bytes()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Page writes one page about r: plots, what to see in them, and all figures. It needs no other file and no network. It
// returns an error if r has no rows.
func Page(w io.Writer, r *bench.Report, guesses ...predict.Compared) error {
	version, _, _ := strings.Cut(libraryJS, "\n")
	p := page{
		Title: "What a switch costs", About: about(r), Data: []*plot{},
		LibraryCSS: template.CSS(libraryCSS), CSS: template.CSS(pageCSS),
		LibraryJS: template.JS(libraryJS), JS: template.JS(pageJS),
		Library: strings.Trim(version, "/*! "), Licence: libraryLicence,
	}
	if len(guesses) > 0 {
		p.Sections = append(p.Sections, guessesSection(guesses))
	}
	if r.Machine.Emulated {
		p.Warnings = append(p.Warnings, "This was measured under an emulator: times mean nothing. Compare instructions.")
	}
	if r.Stopped {
		p.Warnings = append(p.Warnings, "The run was stopped before its end: what it had measured is here.")
	}
	for i := range r.Groups {
		if len(r.Groups[i].Rows) > 0 {
			p.Sections = append(p.Sections, sectionOf(&r.Groups[i]))
		}
	}
	if len(p.Sections) == 0 {
		return fmt.Errorf("report: nothing was measured: there is no page to write")
	}
	machine := section{ID: "machine", Title: "The machine", Head: []string{"what", "value"}}
	for _, fact := range r.Machine.Facts() {
		machine.Rows = append(machine.Rows, []string{fact[0], cmp.Or(fact[1], "not visible")})
	}
	p.Sections = append(p.Sections, published, machine)
	for _, s := range p.Sections {
		if s.Plot != nil {
			p.Data = append(p.Data, s.Plot)
		}
	}
	return pageTemplate.Execute(w, p)
}

// about says in a sentence what was measured, where and when.
func about(r *bench.Report) string {
	m := r.Machine
	cpu := cmp.Or(m.CPU, "an unnamed processor")
	if m.Virtual != "" && m.Virtual != "no" {
		cpu += ", virtual"
	}
	return fmt.Sprintf("Measured on %s (%s, %d processors), %s, %s, on %s.",
		cpu, m.Arch, m.CPUs, m.Kernel, m.Go, r.Started.Format("2 January 2006, 15:04"))
}

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
	//go:embed uplot/uPlot.iife.min.js
	libraryJS string
	//go:embed uplot/uPlot.min.css
	libraryCSS string
	//go:embed uplot/LICENSE
	libraryLicence string

	pageTemplate = template.Must(template.New("page.html").Parse(pageHTML))
)

// page is what page.html shows.
type page struct {
	Title    string
	About    string
	Warnings []string // why the figures, or some of them, are worth little
	Sections []section
	Data     []*plot // of the sections, for page.js

	CSS, LibraryCSS  template.CSS
	JS, LibraryJS    template.JS
	Library, Licence string // which library draws the plots
}

// section is a plot, what to see in it, and its figures: the table has a row for each row, or each place, of the plot.
type section struct {
	ID, Title string
	Plot      *plot // nil: there is none
	Text      []string
	Listings  []listing
	Head      []string
	Rows      [][]string
	Notes     []string // below the table
}

// listing is the code of a switch, beside a bar of its cost. Width and Floor are percentages of the longest bar; a
// Floor of 0 is not drawn.
type listing struct {
	Name, Said, Code string
	Width, Floor     float64
}

// plot is what page.js draws: rows of samples (kind "rows"), or series over an axis (kind "lines"). Its axes of
// figures are logarithmic.
type plot struct {
	Kind string `json:"kind"`
	X    string `json:"x"` // the labels of the axes
	Y    string `json:"y,omitempty"`

	Rows  []samples   `json:"rows,omitempty"`
	Floor *bench.Mark `json:"floor,omitempty"`

	At     []float64    `json:"at,omitempty"`
	Series []series     `json:"series,omitempty"`
	Marks  []bench.Mark `json:"marks,omitempty"`

	Guesses bool `json:"-"` // Samples are guesses, and Median is what was measured
}

type samples struct {
	Name    string    `json:"name"`
	Median  float64   `json:"median"`
	Low     float64   `json:"low"`
	High    float64   `json:"high"`
	Samples []float64 `json:"samples"`
}

// series is one line of a plot, with a value at each place of the axis.
type series struct {
	Name   string    `json:"-"`
	Values []float64 `json:"values"`
	Low    []float64 `json:"low"`
	High   []float64 `json:"high"`
}

// mostShown is how many samples of a row a plot shows at most: more of them cannot be told apart, and make the page
// large.
const mostShown = 150

// add adds a row, with rounded figures, and the samples that the plot shows.
func (p *plot) add(name string, median, low, high float64, all []float64) {
	four := func(x float64) float64 { return bench.Rounded(x, 4) }
	few := evenly(slices.Sorted(slices.Values(all)), mostShown)
	for i, v := range few {
		few[i] = four(v)
	}
	p.Rows = append(p.Rows, samples{name, four(median), four(low), four(high), few})
}

// evenly returns at most that many of the sorted values, evenly spaced: the first and the last are among them.
func evenly(sorted []float64, most int) []float64 {
	if len(sorted) <= most {
		return slices.Clone(sorted)
	}
	few := make([]float64, most)
	for i := range few {
		few[i] = sorted[int(math.Round(float64(i)*float64(len(sorted)-1)/float64(most-1)))]
	}
	return few
}

// duration is a number of nanoseconds with three significant digits and its unit.
func duration(ns float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if bench.Rounded(math.Abs(ns), 3) >= unit.size {
			return bench.Figure(ns/unit.size) + " " + unit.name
		}
	}
	return bench.Figure(ns) + " ns"
}
