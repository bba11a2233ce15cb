package demo

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrProgram is what is wrong with the text of a little program.
var ErrProgram = errors.New("a little program that cannot be run")

// Program is a little program of several threads that share a lock, conditions, a queue of tasks and a
// number of items. Make one with Parse. It never changes, and may be run any number of times.
type Program struct {
	Sections []Section `json:"sections"`
	Queue    []string  `json:"queue,omitempty"` // the names of the tasks that are queued at first, the front one first

	waitsFor map[string]string // a task, and the task whose result it waits for when it runs
}

// Section is the lines that one thread runs, or that several threads run alike.
type Section struct {
	Names []string `json:"threads"`
	Lines []Line   `json:"lines"`
}

// Line is one line of a program.
type Line struct {
	Number  int    `json:"number"` // from 1, through the whole program
	Depth   int    `json:"depth"`  // how far it is indented: the blocks that it is in
	Text    string `json:"text"`
	Changed bool   `json:"changed,omitempty"` // the program that it was compared with does not have it
}

// String is the line with its number, as in a listing.
func (l Line) String() string {
	return fmt.Sprintf("%2d %s%s", l.Number, strings.Repeat("  ", l.Depth), l.Text)
}

// mostThreads is how many threads a program may have: more have too many schedules in any case.
const mostThreads = 16

// Parse makes a program of its text, as Grammar describes it. The error wraps ErrProgram, and says which line is wrong
// and what to do.
func Parse(text string) (*Program, error) {
	p := &Program{waitsFor: make(map[string]string)}
	number := 0
	for i, line := range strings.Split(text, "\n") {
		content := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		wrong := func(what string) error {
			return fmt.Errorf("demo: line %d, %q: %w: %s", i+1, content, ErrProgram, what)
		}
		s, known := statementOf(content)
		tasks, isQueue := strings.CutPrefix(content, "queue:")
		switch {
		case content == "" || content[0] == '#':
		case line[indent] == '\t':
			return nil, wrong("it is indented by a tab: use spaces, two for each block")
		case indent == 0 && isQueue:
			if what := p.addTasks(tasks); what != "" {
				return nil, wrong(what)
			}
		case indent == 0:
			names, found := strings.CutSuffix(content, ":")
			if !found {
				return nil, wrong(
					"the names of threads end with a colon, and a line of a thread is indented by two spaces",
				)
			}
			all := split(names)
			for i, name := range all {
				if name == "" || slices.Contains(append(p.Threads(), all[:i]...), name) {
					return nil, wrong("each thread has a name of its own, and commas stand between names")
				}
			}
			if !p.complete() {
				return nil, wrong("the block above it is empty: give it a line")
			}
			p.Sections = append(p.Sections, Section{Names: all})
			if len(p.Threads()) > mostThreads {
				return nil, wrong(fmt.Sprintf("more than %d threads: take some out", mostThreads))
			}
		case indent%2 != 0:
			return nil, wrong("each block is two spaces further in: indent by 2, 4 or 6")
		case len(p.Sections) == 0:
			return nil, wrong("it belongs to no thread: name one in a line above it, without indentation")
		case content != otherwise && !known:
			return nil, wrong("no such statement: " + remedy(content))
		case s.ofTask && len(p.Queue) == 0:
			return nil, wrong("there is no task: name one in the first line, after queue:")
		default:
			number++
			section := &p.Sections[len(p.Sections)-1]
			section.Lines = append(section.Lines, Line{Number: number, Depth: indent/2 - 1, Text: content})
			if !section.mayStand(len(section.Lines) - 1) {
				return nil, wrong(
					"it is indented too far, or too little, or there is no if above: a block is two spaces further " +
						"in than its first line",
				)
			}
		}
	}
	if len(p.Sections) == 0 || !p.complete() {
		return nil, fmt.Errorf(
			"demo: %w: it has no threads, or its last block is empty: name a thread, and give each block a line",
			ErrProgram,
		)
	}
	return p, nil
}

// complete reports whether the last thread so far has lines, and does not end where a block should begin.
func (p *Program) complete() bool {
	if len(p.Sections) == 0 {
		return true
	}
	lines := p.Sections[len(p.Sections)-1].Lines
	return len(lines) > 0 && !lines[len(lines)-1].begins()
}

// String is the text of the program, which Parse reads.
func (p *Program) String() string {
	var b strings.Builder
	if len(p.Queue) > 0 {
		var tasks []string
		for _, name := range p.Queue {
			if other, waits := p.waitsFor[name]; waits {
				name += waiting + other
			}
			tasks = append(tasks, name)
		}
		fmt.Fprintf(&b, "queue: %s\n", strings.Join(tasks, ", "))
	}
	for _, s := range p.Sections {
		fmt.Fprintf(&b, "%s:\n", strings.Join(s.Names, ", "))
		for _, l := range s.Lines {
			fmt.Fprintf(&b, "  %s%s\n", strings.Repeat("  ", l.Depth), l.Text)
		}
	}
	return b.String()
}

// waiting stands between a task and the task whose result it waits for.
const waiting = " waits for "

// addTasks reads the tasks that are queued at first. It returns what is wrong with them, or nothing.
func (p *Program) addTasks(list string) (wrong string) {
	for _, text := range split(list) {
		name, other, waits := strings.Cut(text, waiting)
		if name == "" || slices.Contains(p.Queue, name) {
			return "each task has a name of its own, and commas stand between names"
		}
		p.Queue = append(p.Queue, name)
		if waits {
			p.waitsFor[name] = other
		}
	}
	for _, other := range p.waitsFor {
		if !slices.Contains(p.Queue, other) {
			wrong = "no task is called " + other + ": add it to the line"
		}
	}
	return wrong
}

// remedy says what to do about a line that is no statement.
func remedy(line string) string {
	if _, known := statementOf(line + ":"); known || line+":" == otherwise {
		return "a line that begins a block ends with a colon"
	}
	return "fiberlab demo --help lists the statements"
}

func split(names string) []string {
	list := strings.Split(names, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

// otherwise is the line that begins the other block of an if. It is not executed.
const otherwise = "else:"

func (l Line) isIf() bool    { return strings.HasPrefix(l.Text, "if ") }
func (l Line) isWhile() bool { return strings.HasPrefix(l.Text, "while ") }

// begins reports whether a block follows the line.
func (l Line) begins() bool { return strings.HasSuffix(l.Text, ":") }

// mayStand reports whether line i fits the lines above it.
func (s *Section) mayStand(i int) bool {
	l := s.Lines[i]
	if i == 0 {
		return l.Depth == 0 && l.Text != otherwise
	}
	above := s.Lines[i-1]
	if above.begins() != (l.Depth == above.Depth+1) || l.Depth > above.Depth+1 {
		return false
	}
	if l.Text != otherwise {
		return true
	}
	for i--; s.Lines[i].Depth > l.Depth; i-- {
	}
	return s.Lines[i].isIf() && s.Lines[i].Depth == l.Depth
}

// blockEnd returns the first line behind line i that is not in the block that line i begins.
func (s *Section) blockEnd(i int) int {
	end := i + 1
	for end < len(s.Lines) && s.Lines[end].Depth > s.Lines[i].Depth {
		end++
	}
	return end
}

// otherBlock returns the line that follows line i, an if or a while, when its condition does not hold.
func (s *Section) otherBlock(i int) int {
	if end := s.blockEnd(i); end < len(s.Lines) && s.Lines[end].Text == otherwise &&
		s.Lines[end].Depth == s.Lines[i].Depth {
		return end + 1
	}
	return s.after(i)
}

// after returns the line that follows when line i is over, with the block that it begins: after the last
// line of a while that is the while again. Behind the last line of all it is the number of lines.
func (s *Section) after(i int) int {
	depth := s.Lines[i].Depth
	next := s.blockEnd(i)
	if next < len(s.Lines) && s.Lines[next].Depth == depth {
		if s.Lines[next].Text == otherwise {
			return s.after(next)
		}
		return next
	}
	for i > 0 && s.Lines[i].Depth >= depth {
		i--
	}
	switch {
	case s.Lines[i].Depth >= depth:
		return len(s.Lines) // no block is around it
	case s.Lines[i].isWhile():
		return i
	}
	return s.after(i)
}

// compared returns copies of two programs in which the lines that only one of them has are marked.
func compared(p, other *Program) (*Program, *Program) {
	p, other = p.clone(), other.clone()
	for i := range min(len(p.Sections), len(other.Sections)) {
		markChanged(p.Sections[i].Lines, other.Sections[i].Lines)
	}
	return p, other
}

// clone copies the program.
func (p *Program) clone() *Program {
	c := *p
	c.Sections = slices.Clone(p.Sections)
	for i := range c.Sections {
		c.Sections[i].Lines = slices.Clone(c.Sections[i].Lines)
	}
	return &c
}

// markChanged marks the lines of a and b that are not in their longest common subsequence.
func markChanged(a, b []Line) {
	same := func(i, j int) bool { return a[i].Text == b[j].Text && a[i].Depth == b[j].Depth }
	common := make([][]int, len(a)+1) // common[i][j]: how many lines a[i:] and b[j:] have in common
	for i := len(a); i >= 0; i-- {
		common[i] = make([]int, len(b)+1)
		for j := len(b) - 1; i < len(a) && j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); same(i, j) {
				common[i][j] = max(common[i][j], common[i+1][j+1]+1)
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && same(i, j):
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			a[i].Changed = true
			i++
		default:
			b[j].Changed = true
			j++
		}
	}
}

// Threads lists the names of all threads in the order of the text.
func (p *Program) Threads() []string {
	var names []string
	for _, s := range p.Sections {
		names = append(names, s.Names...)
	}
	return names
}
