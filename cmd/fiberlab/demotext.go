package main

import (
	"fmt"
	"slices"
	"strings"

	"fiberlab/cmd/fiberlab/demo"
	labcommand "fiberlab/labs/command"
)

// tell adds a paragraph.
func (p *page) tell(format string, args ...any) {
	fmt.Fprintln(&p.text, labcommand.Fold(fmt.Sprintf(format, args...), p.screen.width()))
}

// space adds an empty line, unless there is one, or the page is empty.
func (p *page) space() {
	if p.text.Len() > 0 && !strings.HasSuffix(p.text.String(), "\n\n") {
		p.text.WriteByte('\n')
	}
}

// draw adds columns between empty lines.
func (p *page) draw(c *columns) {
	p.space()
	p.text.WriteString(c.render(p.screen))
	p.space()
}

// heading adds a title, bold where that is possible.
func (p *page) heading(title string) {
	p.space()
	title = labcommand.Fold(title, p.screen.width())
	if p.screen.bold {
		title = "\x1b[1m" + title + "\x1b[0m"
	}
	fmt.Fprintln(&p.text, title)
	p.space()
}

func writeTrap(p *page, number, of int, t *demo.Shown) {
	p.heading(fmt.Sprintf("%d of %d: %s (%s)", number, of, t.Title, t.Name))
	p.tell("%s", t.Text)
	p.space()
	p.tell("The faulty program%s:", startsWith(t.Faulty))
	p.draw(listing(t.Faulty, "-"))
	if t.Goes.Shortest == nil {
		p.tell("Schedules that go wrong: none of %s. There is no trap to be shown.", thousands(t.Goes.Schedules))
		return
	}
	p.tell(
		"Schedules that go wrong: %s of %s. The shortest of them, step by step:", thousands(t.Goes.Wrong),
		thousands(t.Goes.Schedules),
	)
	p.draw(drawing(t.Faulty, t.Goes.Shortest))
	p.tell("%s", t.Goes.Shortest.Fault.Text)
	p.space()
	p.tell("In words:")
	for _, sentence := range t.Goes.Shortest.Words {
		p.tell("%s", sentence)
	}
	p.space()
	p.tell("%s", t.Remedy)
	p.draw(listing(t.Repaired, "+"))
	if t.Then.Wrong > 0 {
		p.tell(
			"Schedules of this program that go wrong: %s of %s. %s", thousands(t.Then.Wrong),
			thousands(t.Then.Schedules), t.Then.Shortest.Fault.Text,
		)
	} else {
		p.tell("Schedules of this program that go wrong: none of %s.", thousands(t.Then.Schedules))
	}
	p.tell("The repaired program under the schedule above; a turn passes if its thread cannot go on:")
	p.draw(drawing(t.Repaired, t.Replay))
	if t.Replay.Fault != nil {
		p.tell("%s", t.Replay.Fault.Text)
	} else {
		p.tell("All threads come to their end.")
	}
}

// mostShown is how many turns of a schedule are drawn. A program that does not end has many.
const mostShown = 60

func writeExplored(p *page, e *explored) {
	p.tell("%s%s:", e.File, startsWith(e.Program))
	p.draw(listing(e.Program, " "))
	of := thousands(e.Found.Schedules)
	if !e.All {
		of = "the first " + of + " (there are more)"
	}
	worst := e.Found.Shortest
	if worst == nil {
		p.tell("Schedules that go wrong: none of %s.", of)
		return
	}
	p.tell("Schedules that go wrong: %s of %s. The shortest of them, step by step:", thousands(e.Found.Wrong), of)
	shown := *worst
	shown.Turns = worst.Turns[:min(len(worst.Turns), mostShown)]
	p.draw(drawing(e.Program, &shown))
	if left := len(worst.Turns) - len(shown.Turns); left > 0 {
		p.tell("%d more steps follow.", left)
	}
	p.tell("%s", worst.Fault.Text)
	if len(shown.Turns) < len(worst.Turns) {
		return
	}
	p.space()
	p.tell("In words:")
	for _, sentence := range worst.Words {
		p.tell("%s", sentence)
	}
}

// startsWith says what is in the queue of a program at first.
func startsWith(prog *demo.Program) string {
	if len(prog.Queue) == 0 {
		return ""
	}
	return fmt.Sprintf(" (at first the queue holds: %s)", strings.Join(prog.Queue, ", "))
}

// listing shows the sections of a program side by side. Lines that the other program does not have get the mark.
func listing(prog *demo.Program, mark string) *columns {
	c := &columns{}
	height := 0
	for _, s := range prog.Sections {
		c.heads = append(c.heads, strings.Join(s.Names, ", ")+":")
		height = max(height, len(s.Lines))
	}
	for i := range height {
		row := columnRow{cells: make([]string, len(c.heads))}
		for k, s := range prog.Sections {
			if i < len(s.Lines) {
				m := " "
				if s.Lines[i].Changed {
					m = mark
				}
				row.cells[k] = m + s.Lines[i].String()
			}
		}
		c.rows = append(c.rows, row)
	}
	return c
}

// drawing shows the turns of an execution in the columns of their threads.
func drawing(prog *demo.Program, v *demo.Interleaving) *columns {
	c := &columns{label: "step", heads: prog.Threads()}
	for i, t := range v.Turns {
		notes := slices.Clone(t.Notes)
		for _, name := range t.Wakes {
			notes = append(notes, "wakes "+name)
		}
		text := fmt.Sprintf("%2d %s", t.Line, t.Text)
		switch {
		case len(notes) == 0:
		case strings.HasSuffix(text, ":"):
			text += " " + strings.Join(notes, ", ")
		default:
			text += ": " + strings.Join(notes, ", ")
		}
		c.add(fmt.Sprint(i+1), slices.Index(c.heads, t.Thread), text)
	}
	return c
}

func writeJoins(p *page, d *demo.Joins) {
	p.tell(
		"%s, and %s. Each parent forks a child and waits for its result.", counted(d.Threads, "thread"),
		counted(d.Parents, "parent"),
	)

	p.heading("1. A plain pool: a wait blocks the thread")
	p.draw(entries(d.Threads, d.Plain))
	if d.Plain.Stuck == nil {
		p.tell("All tasks have ended. A thread was free to run the children.")
	} else {
		p.tell("The pool is stuck.")
		for _, t := range d.Plain.Stuck {
			p.tell("%v", t)
		}
		p.tell("%s", d.Plain.Why)
	}

	p.heading("2. Helping: a wait runs the child itself, unless it has begun elsewhere")
	p.draw(entries(d.Threads, d.Helping))
	p.tell(
		"%s Children that ran inside the wait, on the stack of their parent: %d of %d.", ended(d.Helping),
		d.Helping.Inside, d.Parents,
	)

	p.heading("3. Parking: a wait parks the fiber, and the thread runs others")
	p.draw(entries(d.Threads, d.Parking))
	p.tell(
		"%s Children that ran on the stack of their parent: %d of %d.", ended(d.Parking), d.Parking.Inside, d.Parents,
	)
}

func ended(r demo.JoinRun) string {
	if r.Finished {
		return "All tasks have ended."
	}
	return "Not all tasks have ended with the right result!"
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// entries shows what tasks did in the columns of the threads that ran them.
func entries(threads int, r demo.JoinRun) *columns {
	c := &columns{label: "step"}
	for i := range threads {
		c.heads = append(c.heads, fmt.Sprintf("thread %d", i))
	}
	for i, e := range r.Entries {
		c.add(fmt.Sprint(i+1), e.Thread, e.String())
	}
	return c
}
