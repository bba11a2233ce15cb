package step

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"fiberlab/labs/record"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string

	pageTemplate = template.Must(template.New("page.html").Parse(pageHTML))
)

// Assets returns the style and the script of the page, for other pages of steps. The script shows what the element
// "recording" holds: the fields of pageData, of which such a page may leave out all about memory.
func Assets() (template.CSS, template.JS) { return template.CSS(pageCSS), template.JS(pageJS) }

// JSON writes the recording as one JSON document.
func JSON(w io.Writer, r *record.Recording) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// page is what page.html shows: all steps one below the other, and what page.js needs to show one at a time.
type page struct {
	Title, Arch, Count string
	Findings           []pageFinding
	Steps              []pageStep // the first is the start
	Keys               [][2]string
	Data               pageData
	CSS                template.CSS
	JS                 template.JS
}

type pageFinding struct {
	Steps []int // positions
	Text  string
}

// pageStep is a position of the list.
type pageStep struct {
	Position    int
	Where       string
	Source      string
	Instruction string
	Effects     []string
	Findings    []string
	Registers   []pageRegister
	Regions     []pageRegion
}

type pageRegister struct {
	Name, Value, Meaning string
	Changed              bool
}

type pageRegion struct {
	Name, Address string
	Stack         bool
	Words         []pageWord
}

// pageWord is a row of a region's drawing, or, if it has no offset, rows that are left out.
type pageWord struct {
	Class, Mark, Pointer, Offset, Value, Meaning string
}

// pageData is the recording as page.js replays it: values as hexadecimal digits, memory by words.
type pageData struct {
	SP        string              `json:"sp"`
	PC        string              `json:"pc"`
	Registers []string            `json:"registers"`
	Values    []string            `json:"values"` // of the registers at the start
	Regions   []dataRegion        `json:"regions"`
	Steps     []dataStep          `json:"steps"`
	Meanings  map[string]string   `json:"meanings"`
	Sources   map[string][]string `json:"sources"`
}

type dataRegion struct {
	Name    string   `json:"name"`
	Address string   `json:"address"`
	Stack   bool     `json:"stack"`
	Words   []string `json:"words"`
	Order   []int    `json:"order"` // the words that are shown, as from Player.Order
}

type dataStep struct {
	File      string   `json:"file"`
	Line      int      `json:"line"`
	Registers [][2]any `json:"registers"` // name and new value
	Words     [][3]any `json:"words"`     // region, word and new value
	Read      [][2]int `json:"read"`      // region and word
	Head      string   `json:"head"`
	Effects   []string `json:"effects"`
	Findings  []string `json:"findings"`
}

var pageKeys = [][2]string{
	{"→ n", "step forward"}, {"← p", "step back"}, {"Home", "to the start"}, {"End", "to the end"},
	{"f", "to the next wrong step"}, {"t", "light or dark"},
}

// HTML writes a page that shows the recording in a browser. It needs no other file and no network. The player ends
// where it was.
func (p *Player) HTML(w io.Writer) error {
	defer p.Go(p.at)
	p.Go(0)
	content := page{
		Title: p.recording.Title, Arch: p.recording.Arch, Count: count(p.Last(), "step"), Keys: pageKeys,
		CSS: template.CSS(pageCSS), JS: template.JS(pageJS), Data: p.pageData(),
	}
	for _, f := range p.recording.Findings {
		k := slices.IndexFunc(content.Findings, func(known pageFinding) bool { return known.Text == told(f) })
		if k < 0 {
			k = len(content.Findings)
			content.Findings = append(content.Findings, pageFinding{Text: told(f)})
		}
		if f.Step >= 0 {
			content.Findings[k].Steps = append(content.Findings[k].Steps, f.Step+1)
		}
	}
	for position := range p.Last() + 1 {
		p.Go(position)
		content.Steps = append(content.Steps, p.pageStep())
	}
	return pageTemplate.Execute(w, content)
}

// complaints are all that is said to be wrong with the step.
func (p *Player) complaints() []string {
	var all []string
	if step, ok := p.Step(); ok && step.Fault != "" {
		all = append(all, "the program went no further: "+step.Fault)
	}
	for _, f := range p.Findings() {
		if p.At() > 0 {
			all = append(all, told(f))
		}
	}
	return all
}

func (p *Player) pageStep() pageStep {
	s := pageStep{Position: p.At(), Where: "At the start", Findings: p.complaints()}
	if step, ok := p.Step(); ok {
		s.Where, s.Source, s.Instruction = where(step), step.Source, step.Instruction
		if step.Note != "" {
			s.Where, s.Source = step.Note, ""
		}
	}
	for _, e := range p.Effects() {
		s.Effects = append(s.Effects, e.String())
	}
	for _, name := range p.Registers() {
		value := p.Register(name)
		s.Registers = append(s.Registers, pageRegister{name, digits(value), p.Meaning(value), p.ChangedRegister(name)})
	}
	for _, i := range p.stacksFirst() {
		s.Regions = append(s.Regions, p.pageRegion(i))
	}
	return s
}

// stacksFirst lists the regions in the order in which they are shown.
func (p *Player) stacksFirst() []int {
	var stacks, others []int
	for i, r := range p.recording.Regions {
		if r.Stack {
			stacks = append(stacks, i)
		} else {
			others = append(others, i)
		}
	}
	return append(stacks, others...)
}

// pageRegion draws the words that matter at this position, and those nearby.
func (p *Player) pageRegion(region int) pageRegion {
	r := p.recording.Regions[region]
	drawn := pageRegion{Name: r.Name, Address: r.Address.String(), Stack: r.Stack}
	pointers := p.Pointers(region)
	matters := func(word int) bool {
		return word < p.Words(region) && (p.ChangedWord(region, word) || p.ReadWord(region, word)) ||
			r.Stack && len(pointers[word]) > 0
	}
	order := p.Order(region)
	left := false
	for i, word := range order {
		near := word != gap && (p.At() == 0 || !r.Stack)
		for _, other := range order[max(0, i-nearby):min(len(order), i+nearby+1)] {
			near = near || word != gap && other != gap && matters(other)
		}
		if !near {
			if !left {
				drawn.Words = append(drawn.Words, pageWord{Class: "left-out"})
			}
			left = true
			continue
		}
		left = false
		row := pageWord{Offset: fmt.Sprintf("+%#x", word*wordSize), Value: "end"}
		var classes []string
		if word < p.Words(region) {
			value := p.Word(region, word)
			row.Value, row.Meaning = digits(value), p.Meaning(value)
			switch {
			case p.ChangedWord(region, word):
				row.Mark, classes = "*", append(classes, "changed")
			case p.ReadWord(region, word):
				row.Mark, classes = "<", append(classes, "read")
			}
		} else {
			classes = append(classes, "end")
		}
		if r.Stack && len(pointers[word]) > 0 {
			row.Pointer = "saved"
			if slices.Contains(pointers[word], p.arch.SP) {
				row.Pointer, classes = p.arch.SP, append(classes, "top")
			}
		}
		if p.free(region, word) {
			classes = append(classes, "free")
		}
		row.Class = strings.Join(classes, " ")
		drawn.Words = append(drawn.Words, row)
	}
	return drawn
}

// pageData must be called at position 0.
func (p *Player) pageData() pageData {
	d := pageData{
		SP: p.arch.SP, PC: p.arch.PC, Registers: p.Registers(), Meanings: map[string]string{},
		Sources: p.recording.Sources,
	}
	know := func(value uint64) string {
		if meaning := p.Meaning(value); meaning != "" {
			d.Meanings[digits(value)] = meaning
		}
		return digits(value)
	}
	for _, name := range d.Registers {
		d.Values = append(d.Values, know(p.Register(name)))
	}
	index := map[int]int{} // where a region of the recording is among those shown
	for at, i := range p.stacksFirst() {
		index[i] = at
		r := p.recording.Regions[i]
		shown := dataRegion{Name: r.Name, Address: digits(uint64(r.Address)), Stack: r.Stack, Order: p.Order(i)}
		for word := range p.Words(i) {
			shown.Words = append(shown.Words, know(p.Word(i, word)))
		}
		d.Regions = append(d.Regions, shown)
	}
	d.Steps = []dataStep{{Head: "before the first step"}}
	for p.At() < p.Last() {
		p.Go(p.At() + 1)
		step, _ := p.Step()
		s := dataStep{File: step.Place.File, Line: step.Place.Line, Head: step.Instruction, Findings: p.complaints()}
		if step.Note != "" {
			s.Head = step.Note
		}
		for _, e := range p.Effects() {
			s.Effects = append(s.Effects, e.String())
		}
		for _, c := range step.Registers {
			if c.Register != p.arch.PC {
				s.Registers = append(s.Registers, [2]any{c.Register, know(uint64(c.After))})
			}
		}
		s.Registers = append(s.Registers, [2]any{p.arch.PC, know(p.Register(p.arch.PC))})
		for i := range p.recording.Regions {
			for _, word := range wordsOf(step, i) {
				s.Words = append(s.Words, [3]any{index[i], word, know(p.Word(i, word))})
			}
			for word := range p.Words(i) {
				if p.ReadWord(i, word) {
					s.Read = append(s.Read, [2]int{index[i], word})
				}
			}
		}
		d.Steps = append(d.Steps, s)
	}
	return d
}

// digits is a value as sixteen hexadecimal digits.
func digits(value uint64) string { return fmt.Sprintf("%016x", value) }
