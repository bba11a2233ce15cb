package explore

import (
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"fiberlab/labs/step"
)

// ErrNoPage says that there is no schedule of which HTML could write a page.
var ErrNoPage = errors.New("no schedule fails: there is no page of it")

// mostOnPage is how many steps a page has at most.
const mostOnPage = 2000

var (
	//go:embed page.html
	pageHTML     string
	pageTemplate = template.Must(template.New("page.html").Parse(pageHTML))
)

// page is what page.html shows: a table of all steps, and what the script of package step needs to show one at a time.
type page struct {
	Title, Fault, Schedule string
	At                     []int // the steps of the fault, from 1
	Explained              []string
	Threads                []int
	Steps                  []pageStep // the first is the start
	Keys                   [][2]string
	Data                   pageData
	CSS                    template.CSS
	JS                     template.JS
	folder                 string // that has all files of the steps
}

type pageStep struct {
	Position, Thread int // no thread: -1
	Source, Does     string
	Preempted, Wrong bool
}

// pageData has what package step says of its page's data. Instead of registers it has the variables of the program.
type pageData struct {
	Variables []string            `json:"registers"`
	Values    []string            `json:"values"`
	Regions   []string            `json:"regions"`
	Meanings  map[string]string   `json:"meanings"`
	Sources   map[string][]string `json:"sources"`
	Steps     []dataStep          `json:"steps"`
}

type dataStep struct {
	File     string      `json:"file"`
	Line     int         `json:"line"`
	Head     string      `json:"head"`
	Effects  []string    `json:"effects"`
	Findings []string    `json:"findings,omitempty"`
	Written  [][2]string `json:"registers,omitempty"` // variables and their new values
}

// HTML writes a page that shows the failing schedule in a browser. It needs no other file and no network. If no
// schedule fails, it returns ErrNoPage.
func (r *Result) HTML(w io.Writer) error {
	if r.Fault == nil {
		return ErrNoPage
	}
	if len(r.Steps) > mostOnPage {
		return fmt.Errorf("the schedule has %s: a page has at most %d", counted(len(r.Steps), "step"), mostOnPage)
	}
	p := page{
		Title: "A schedule that fails", Fault: clean(r.Sentence()), Schedule: r.Schedule,
		Keys: [][2]string{
			{"→ n", "step forward"}, {"← p", "step back"}, {"Home", "to the start"}, {"End", "to the end"},
			{"f", "to the next wrong step"}, {"t", "light or dark"},
		},
	}
	p.CSS, p.JS = step.Assets()
	p.folder = r.folder()
	for _, line := range r.Reasons() {
		p.Explained = append(p.Explained, clean(line))
	}
	for _, i := range slices.Compact([]int{min(r.Fault.A, r.Fault.B), max(r.Fault.A, r.Fault.B)}) {
		if r.has(i) {
			p.At = append(p.At, i+1)
		}
	}
	p.Steps = []pageStep{{Thread: -1}}
	p.Data = pageData{
		Meanings: map[string]string{}, Sources: map[string][]string{}, Steps: []dataStep{{Head: "before the first step"}},
		Regions: []string{},
	}
	marked := r.switches()
	for i, s := range r.Steps {
		for len(p.Threads) <= s.Thread {
			p.Threads = append(p.Threads, len(p.Threads))
		}
		p.add(r, i, marked[i])
	}
	return pageTemplate.Execute(w, p)
}

// name is how the page names a file: by its path in the folder that has all files of the steps.
func (p *page) name(file string) string {
	if name, err := filepath.Rel(p.folder, file); err == nil {
		return name
	}
	return file
}

// folder returns the folder that has all files in which steps are.
func (r *Result) folder() (folder string) {
	source := r.program.read()
	for _, s := range r.Steps {
		file := source.place(s.PC).File
		switch {
		case file == "":
		case folder == "":
			folder = filepath.Dir(file)
		default:
			for filepath.Dir(folder) != folder && !strings.HasPrefix(file, folder+"/") {
				folder = filepath.Dir(folder)
			}
		}
	}
	return folder
}

// add adds the step with that index.
func (p *page) add(r *Result, i int, preempted bool) {
	s, source := r.Steps[i], r.program.read()
	at := source.place(s.PC)
	shown := pageStep{
		Position: i + 1, Thread: s.Thread, Source: clean(source.text(at)), Does: clean(r.Does(i)), Preempted: preempted,
		Wrong: slices.Contains(p.At, i+1),
	}
	p.Steps = append(p.Steps, shown)
	d := dataStep{Head: fmt.Sprintf("thread %d", s.Thread), Effects: []string{shown.Does}}
	if at.File != "" {
		d.File, d.Line = p.name(at.File), at.Line
		d.Head += fmt.Sprintf(", %s: %s", at, shown.Source)
		if p.Data.Sources[d.File] == nil {
			for _, line := range source.files[at.File] {
				p.Data.Sources[d.File] = append(p.Data.Sources[d.File], clean(line))
			}
		}
	}
	if preempted {
		d.Effects = append(d.Effects, "a preemption: the thread of the step before could have gone on")
	}
	if shown.Wrong {
		d.Findings = []string{p.Fault}
	}
	if r.NoReturn != nil && *r.NoReturn == i {
		d.Findings = append(d.Findings, r.noReturn())
	}
	if s.Address != 0 {
		p.note(&d, clean(r.name(s.Address, s)), s)
	}
	p.Data.Steps = append(p.Data.Steps, d)
}

// note notes the value that a variable has after a step. If the variable is new and the step read it, that is its value
// at the start, too.
func (p *page) note(d *dataStep, name string, s Step) {
	value := ""
	switch {
	case s.Op == "lock":
		value = fmt.Sprintf("held by thread %d", s.Thread)
	case s.Op == "unlock":
		value = "free"
	case s.Op == "free":
		value = "freed"
	case s.Stored != nil:
		value = s.number(s.Stored)
	}
	if !slices.Contains(p.Data.Variables, name) {
		first := "?"
		if s.Op == "lock" {
			first = "free"
		}
		if s.Value != nil && !s.Stale && s.Op != "trylock" {
			first = s.number(s.Value)
		}
		p.Data.Variables, p.Data.Values = append(p.Data.Variables, name), append(p.Data.Values, first)
	}
	if value != "" {
		d.Written = append(d.Written, [2]string{name, value})
	}
}
