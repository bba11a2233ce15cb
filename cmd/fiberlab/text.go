package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"fiberlab/bench"
	labcommand "fiberlab/labs/command"
	"fiberlab/sched"
)

// writeText writes the report as tables and drawings, as the screen behind w can show them.
func (r report) writeText(w io.Writer) error {
	p := &page{screen: screenOf(w)}
	if r.Pipeline != nil {
		r.writeFindings(p)
		r.Pipeline.writeText(p)
	}
	if r.SwitchCost != nil {
		writeGroup(p, r.SwitchCost)
	}
	if r.Explored != nil {
		writeExplored(p, r.Explored)
	}
	if r.Schedules != nil {
		_ = r.Schedules.Write(&p.text, p.screen.columns) // a strings.Builder takes everything
	}
	for i, t := range r.LostWakeup {
		writeTrap(p, i+1, len(r.LostWakeup), t)
	}
	if r.Deadlock != nil {
		writeJoins(p, r.Deadlock)
	}
	if r.Served != nil {
		writeServed(p, r.Served)
	}
	if r.Doctor != nil {
		r.Doctor.writeText(p, r.Machine)
	}
	return p.writeTo(w)
}

// page is text for a screen.
type page struct {
	screen screen
	text   strings.Builder
}

// writeTo writes the page to w.
func (p *page) writeTo(w io.Writer) error {
	_, err := io.WriteString(w, p.text.String())
	return err
}

// say adds a line, broken between words if the screen is narrower.
func (p *page) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if p.screen.columns > 0 {
		line = labcommand.Fold(line, p.screen.columns)
	}
	fmt.Fprintln(&p.text, line)
}

// table adds a table below its title, after an empty line.
func (p *page) table(g *grid, title string, args ...any) {
	if p.text.Len() > 0 {
		p.text.WriteByte('\n')
	}
	if title != "" {
		p.say(title, args...)
		p.text.WriteByte('\n')
	}
	fmt.Fprintln(&p.text, g.render(p.screen))
}

// writeFindings says in a few lines what a run has shown: that the counts agree, that fibers were in all states, and
// what a switch costs.
func (r report) writeFindings(p *page) {
	counts := r.Pipeline.Backends
	if r.Pipeline.Agree {
		p.say("All agree, file by file and word by word: a plain loop and fibers on %s counted %s words.",
			strings.Join(r.Pipeline.labels(), ", "), thousands(r.Pipeline.Words))
	} else {
		p.say("They do NOT agree: the counts by a plain loop and by fibers on %s differ.",
			strings.Join(r.Pipeline.labels(), ", "))
	}
	if len(counts) > 0 {
		var list []string
		for i, e := range counts[0].Entered {
			n := uint64(0)
			for _, c := range counts {
				n += c.Entered[i].Count
			}
			list = append(list, fmt.Sprintf("%s %s times", e.State, thousands(int(n))))
		}
		p.say("Fibers became %s.", strings.Join(list, ", "))
	}
	if r.SwitchCost != nil {
		var list []string
		for _, row := range r.SwitchCost.Rows {
			if slices.Contains([]string{"asm", "ucontext", "goroutine", "threads"}, row.Name) {
				list = append(list, fmt.Sprintf("%s ns by %s", thousands(int(row.Median+0.5)), row.Name))
			}
		}
		p.say("A switch costs %s.", strings.Join(list, ", "))
	}
	p.text.WriteByte('\n')
}

func (r *pipelineReport) writeText(p *page) {
	p.say("%s", r.Dir)
	p.say("%s text files, %s; %s not text", thousands(r.Files), megabytes(r.Bytes), thousands(r.OtherFiles))
	p.say("workers of each scheduler: %d; policy: %s", r.Workers, strings.Join(r.policies(), ", "))
	g := newGrid("counted by", "files", "words", "distinct", "tasks", "blocked", "switches", "time")
	g.add(
		"plain loop", thousands(r.Files), thousands(r.Words), thousands(r.Distinct), "-", "-", "-", seconds(r.Seconds),
	)
	for _, c := range r.Backends {
		g.add(c.label, thousands(c.Files), thousands(c.Words), thousands(c.Distinct),
			thousands(c.Tasks), thousands(c.Blocked), thousands(c.Switches), seconds(c.Seconds))
	}
	p.table(g, "")
	for _, u := range r.Unreadable {
		p.say("not read: %s: %s", u.Path, u.Error)
	}
	r.writeWorkers(p)
	r.writeStages(p)
	r.writeGroups(p)
	if len(r.Backends) > 0 && r.Backends[0].Transitions != nil {
		r.writeTransitions(p)
	}
}

// writeWorkers has a row for each worker of each scheduler.
func (r *pipelineReport) writeWorkers(p *page) {
	g := newGrid("worker", "tasks", "switches", "stolen", "sleeps", "busy", "idle")
	for _, c := range r.Backends {
		for _, w := range c.Workers {
			name := fmt.Sprintf("%s %d", c.label, w.Worker)
			if w.Bound {
				name = c.label + " bound"
			}
			g.add(name, thousands(w.Tasks), thousands(w.Switches), thousands(w.Stolen), thousands(w.Sleeps),
				seconds(w.Busy), seconds(w.Idle))
		}
	}
	p.table(g, "What each worker did; the bound one is the caller, which only starts the tasks if there are others")
}

// writeStages has a row for each kind of task of each count.
func (r *pipelineReport) writeStages(p *page) {
	g := newGrid("task", "tasks", "ran", "ready", "waited")
	for _, c := range r.Backends {
		for _, s := range c.Stages {
			g.add(c.label+" "+s.Name, thousands(s.Tasks), seconds(s.Running), seconds(s.Queued), seconds(s.Blocked))
		}
	}
	p.table(g, "Where the time went: how long all tasks of a kind ran, were ready while others ran, and waited")
}

// writeTransitions has a row for each transition that occurred and a column for each count.
func (r *pipelineReport) writeTransitions(p *page) {
	head := []string{"transition"}
	for _, c := range r.Backends {
		head = append(head, c.label)
	}
	g := newGrid(head...)
	for from := sched.Idle; from <= sched.Running; from++ {
		for to := sched.Idle; to <= sched.Running; to++ {
			row, any := []string{fmt.Sprintf("%v -> %v", from, to)}, false
			for _, c := range r.Backends {
				n := c.count(from.String(), to.String())
				row, any = append(row, thousands(int(n))), any || n > 0
			}
			if any {
				g.add(row...)
			}
		}
	}
	p.table(g, "How often a fiber went from one state to another")
}

// thousands is n with a comma after every three digits.
func thousands(n int) string { return bench.Whole(float64(n)) }

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

func seconds(s float64) string { return fmt.Sprintf("%.2f s", s) }

// decimal is x with two digits after the point; large numbers have none.
func decimal(x float64) string {
	if x >= 1000 {
		return thousands(int(x + 0.5))
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}
