package step

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// view is what keys change in the drawing.
type view struct {
	values  bool   // where there is no room for both, values and not what they mean
	regions int    // which kinds of regions: one of the below
	status  string // the last line: a message, or what is being typed; empty: the keys
}

const (
	allRegions = iota
	onlyStacks
	onlyOthers
)

const (
	keyLine = "arrows: step  g/G: ends  f: wrong step  /: search  m: memory  ?: keys  q: quit"
	// The least screen on which anything can be seen.
	leastColumns, leastRows = 40, 12
)

// frame draws the position for a screen: as many lines as it has rows, none wider than it.
func (p *Player) frame(s Screen, v view) []string {
	if s.Columns < leastColumns || s.Rows < leastRows {
		return []string{fit(fmt.Sprintf("%dx%d or more", leastColumns, leastRows), s.Columns)}
	}
	told := p.tellStep(s)
	free := s.Rows - 2 - len(told)
	registers := p.drawRegisters(s, v, max(1, min(free-8, free/2+2)))
	free -= len(registers)
	source := p.drawSource(s, max(2, min(free*2/5, 16)))
	free -= len(source)
	memory := p.drawMemory(s, v, free)

	lines := []string{p.drawHead(s)}
	lines = slices.Concat(lines, source, told, registers, memory)
	for len(lines) < s.Rows-1 {
		lines = append(lines, "")
	}
	status := v.status
	if status == "" {
		status = keyLine
	}
	return append(lines[:s.Rows-1], s.styled(faint, fit(status, s.Columns)))
}

func (p *Player) drawHead(s Screen) string {
	right := fmt.Sprintf("  step %d of %d", p.At(), p.Last())
	if running := p.Running(); running >= 0 {
		right = "  on " + s.clean(p.recording.Regions[running].Name) + right
	}
	title := s.clean(fmt.Sprintf("%s (%s)", p.recording.Title, p.recording.Arch))
	return s.styled(strong, fit(fit(title, max(0, s.Columns-len(right)))+right, s.Columns))
}

// drawSource shows the line of the step, and those around it.
func (p *Player) drawSource(s Screen, rows int) []string {
	step, ok := p.Step()
	// at the start, and between calls: what comes next
	for i := p.at; (!ok || step.Place.File == "") && i < p.Last(); i++ {
		step, ok = p.recording.Steps[i], true
	}
	source := p.recording.Sources[step.Place.File]
	head := s.styled(faint, fit(rule(s, s.clean(step.Place.File)), s.Columns))
	if len(source) == 0 || step.Place.Line < 1 || step.Place.Line > len(source) {
		return []string{head, fit("  (no source)", s.Columns)}
	}
	rows--
	first := window(len(source), rows, step.Place.Line-1)
	lines := []string{head}
	for i := first; i < min(first+rows, len(source)); i++ {
		mark, style := " ", plain
		here, _ := p.Step()
		if i == step.Place.Line-1 && here.Place.Line == i+1 {
			mark, style = ">", current
			if len(p.Findings()) > 0 {
				mark, style = "!", wrong+";"+current
			}
		}
		lines = append(lines, s.styled(style, fit(fmt.Sprintf("%s%4d  %s", mark, i+1, s.clean(source[i])), s.Columns)))
	}
	return lines
}

// tellStep tells in words what the step did, in a few lines.
func (p *Player) tellStep(s Screen) []string {
	rows := 3
	if s.Rows >= 30 || len(p.Findings()) > 0 {
		rows = 4
	}
	step, ok := p.Step()
	head := step.Instruction
	switch {
	case !ok:
		head = "before the first step"
	case step.Note != "":
		head = step.Note
	}
	lines := []string{s.styled(strong, fit("  "+s.clean(head), s.Columns))}
	for _, f := range p.Findings() {
		for line := range strings.SplitSeq(text.WrapSoft(s.clean(told(f)), s.Columns-2), "\n") {
			lines = append(lines, s.styled(wrong, fit("! "+line, s.Columns)))
		}
	}
	if step.Fault != "" {
		lines = append(lines, s.styled(wrong, fit("! "+s.clean(step.Fault), s.Columns)))
	}
	for _, e := range p.Effects() {
		lines = append(lines, fit("  "+s.clean(e.String()), s.Columns))
	}
	if more := len(lines) - rows; more > 0 {
		lines = append(lines[:rows-1], fit(fmt.Sprintf("  and %s", count(more+1, "more line")), s.Columns))
	}
	for len(lines) < rows {
		lines = append(lines, "")
	}
	return lines
}

const (
	wideRegister   = 39 // columns of a register with its value and what that means
	narrowRegister = 25 // with one of them
)

// drawRegisters shows registers in columns, top down, in at most so many rows. If there is no room for all, it shows
// the registers that changed.
func (p *Player) drawRegisters(s Screen, v view, rows int) []string {
	names := p.Registers()
	rows = max(1, rows-1)
	columns := max(1, min(2, s.Columns/wideRegister))
	for (len(names)+columns-1)/columns > rows && s.Columns/(columns+1) >= narrowRegister {
		columns++
	}
	needed := (len(names) + columns - 1) / columns
	first := 0
	for i, name := range names {
		if p.ChangedRegister(name) {
			first = window(needed, rows, i%needed)
		}
	}
	lines := []string{s.styled(faint, fit(rule(s, "registers"), s.Columns))}
	for row := first; row < min(needed, first+rows); row++ {
		line := ""
		for i := row; i < len(names); i += needed {
			line += p.drawRegister(s, v, names[i], s.Columns/columns)
		}
		lines = append(lines, line)
	}
	return lines
}

func (p *Player) drawRegister(s Screen, v view, name string, columns int) string {
	mark, style := " ", plain
	if p.ChangedRegister(name) {
		mark, style = "*", changed
	}
	cell := fmt.Sprintf("%s%-6s %s", mark, name, p.drawValue(s, v, p.Register(name), columns-9))
	return s.styled(style, fit(cell, columns-1)) + " "
}

// drawValue shows a value and what it means, or one of them.
func (p *Player) drawValue(s Screen, v view, value uint64, columns int) string {
	meaning := s.clean(p.Meaning(value))
	switch {
	case columns >= 16+1+len(meaning) || v.values && columns > 16:
		return fmt.Sprintf("%016x %s", value, meaning)
	case meaning != "" && (!v.values || columns < 16):
		return "= " + meaning
	default:
		return fmt.Sprintf("%016x", value)
	}
}

// drawMemory shows the regions in two columns, or one below the other on a narrow screen.
func (p *Player) drawMemory(s Screen, v view, rows int) []string {
	var stacks, others []int
	for i, r := range p.recording.Regions {
		if r.Stack && v.regions != onlyOthers {
			stacks = append(stacks, i)
		} else if !r.Stack && v.regions != onlyStacks {
			others = append(others, i)
		}
	}
	abreast := 2
	if s.Columns < 2*wideRegister {
		abreast = 1
	}
	var bands [][]int // regions side by side
	for _, kind := range [][]int{stacks, others} {
		bands = slices.AppendSeq(bands, slices.Chunk(kind, abreast))
	}
	if fitting := max(1, rows/leastRegion); len(bands) > fitting {
		slices.SortStableFunc(bands, func(a, b []int) int { return p.matters(b) - p.matters(a) })
		bands = bands[:fitting]
	}
	var lines []string
	for i, band := range bands {
		height := (rows - len(lines) + len(bands) - i - 1) / (len(bands) - i)
		longest := 0
		var drawn [][]string
		for _, region := range band {
			drawn = append(drawn, p.drawRegion(s, v, region, height, s.Columns/abreast))
			longest = max(longest, len(drawn[len(drawn)-1]))
		}
		for row := range longest {
			line := ""
			for _, d := range drawn {
				if row < len(d) {
					line += d[row]
				} else {
					line += strings.Repeat(" ", s.Columns/abreast)
				}
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// leastRegion is the rows of a region below which others are left out for it.
const leastRegion = 3

// matters says how much the regions have to do with the step.
func (p *Player) matters(regions []int) int {
	for _, region := range regions {
		for word := range p.Words(region) {
			if p.ChangedWord(region, word) || p.ReadWord(region, word) {
				return 2
			}
		}
	}
	if slices.Contains(regions, p.Running()) {
		return 1
	}
	return 0
}

// drawRegion shows the words of a region: of a stack the high addresses above.
// The words that matter at this step are seen.
func (p *Player) drawRegion(s Screen, v view, region, rows, columns int) []string {
	r := p.recording.Regions[region]
	pointers := p.Pointers(region)
	order := p.Order(region)
	focus := -1
	for _, matters := range []func(word int) bool{
		func(word int) bool { return p.ChangedWord(region, word) },
		func(word int) bool { return p.ReadWord(region, word) },
		func(word int) bool { return r.Stack && slices.Contains(pointers[word], p.arch.SP) },
		func(word int) bool { return r.Stack && len(pointers[word]) > 0 },
		func(int) bool { return true },
	} {
		if focus = slices.IndexFunc(order, matters); focus >= 0 {
			break
		}
	}
	lines := []string{s.styled(faint, fit(rule(s, fmt.Sprintf("%s at %v", s.clean(r.Name), r.Address)), columns-1)+" ")}
	first := window(len(order), rows-1, focus)
	for _, word := range order[first:min(len(order), first+rows-1)] {
		if word == gap {
			lines = append(lines, s.styled(faint, fit("       ...", columns)))
			continue
		}
		lines = append(lines, p.drawWord(s, v, region, word, pointers[word], columns))
	}
	return lines
}

func (p *Player) drawWord(s Screen, v view, region, word int, pointers []string, columns int) string {
	mark, style, pointer, value := " ", plain, "", "(end)"
	if word < p.Words(region) {
		value = p.drawValue(s, v, p.Word(region, word), columns-16)
		switch {
		case p.ChangedWord(region, word):
			mark, style = "*", changed
		case p.ReadWord(region, word):
			mark, style = "<", read
		}
	}
	if p.recording.Regions[region].Stack && len(pointers) > 0 {
		pointer = "saved>"
		if slices.Contains(pointers, p.arch.SP) {
			pointer = p.arch.SP + ">"
		}
		if style == plain {
			style = strong
		}
	}
	cell := fmt.Sprintf("%6s%s+%-5s %s", pointer, mark, fmt.Sprintf("%#x", word*wordSize), value)
	if style == plain && p.free(region, word) {
		style = faint
	}
	return s.styled(style, fit(cell, columns-1)) + " "
}

// free reports whether the word lies below the stack pointer, on the stack that is in use: an interrupt or a call may
// change it.
func (p *Player) free(region, word int) bool {
	r := p.recording.Regions[region]
	return region == p.Running() && uint64(r.Address)+uint64(word*wordSize) < p.registers[p.arch.SP]
}

// window returns the first of the rows that are seen of a list,
// so that the focus is in the middle where that is possible.
func window(length, rows, focus int) int {
	return max(0, min(focus-rows/2, length-rows))
}

// rule is a heading with a line behind it.
func rule(s Screen, heading string) string {
	dash := "─"
	if s.ASCII {
		dash = "-"
	}
	return strings.Repeat(dash, 2) + " " + heading + " " + strings.Repeat(dash, 200)
}
