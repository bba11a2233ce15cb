// Package report shows what package bench has measured: as a page for browsers, and as a drawing.
package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"

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
		if err := writeSVG(&drawing, g.Title+", in "+g.Unit, rowsSection(g).Plot); err != nil {
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
	p := page{Title: "What a switch costs", About: about(r)}
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
	return p.write(w)
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
