package swap

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// trip is what all items but the last look at: A swaps to B, which is fresh, B swaps back, and A swaps to B again.
type trip struct {
	entry    *leg
	passages []passage
	world    *world
}

// passage is a fiber's time away: the leg that left it, and the leg that entered it again.
type passage struct{ save, load *leg }

func (t *trip) travel(ctx context.Context) error {
	w := t.world
	a, b := w.fiber[0], w.fiber[1]
	if err := w.prepare(ctx, b); err != nil {
		return err
	}
	// Each leg begins with registers that are set for it, so a leg that went astray does not keep the next from being
	// made, unless it has ended the program.
	var legs []*leg
	for _, route := range [][2]*fiber{{a, b}, {b, a}, {a, b}} {
		l, err := w.swap(ctx, route[0], route[1])
		if err != nil {
			return err
		}
		legs = append(legs, l)
		if err := w.borrowed(l); err != nil {
			return err
		}
		// the program cannot go on
		if l.after.Arch() == nil || l.trouble != nil && l.trouble.Stop.Kind == machine.Refused {
			l.trouble.What, l.trouble.Place = w.end(l)
			return l.trouble
		}
	}
	w.bench.Measure("a swap", float64(len(legs[1].recording.Steps)), "instructions")
	t.entry, t.passages = legs[0], []passage{{legs[0], legs[1]}, {legs[1], legs[2]}}
	return nil
}

// borrowed says that a swap runs one of the functions that it is to do without. No name gives that away if the swap
// knows their addresses. What the library itself calls, after a swap that went to a wrong place in it,
// is another fault.
type borrowed struct{ *grade.Trouble }

func (b borrowed) Unwrap() error { return b.Trouble }

// Borrows returns an error, which wraps a *grade.Trouble, if the swap runs one of the functions that it is to do
// without. A check that has it run at full speed asks first, since that does not show what runs.
func (s Subject) Borrows(ctx context.Context, b *grade.Bench) error {
	if len(s.Library) == 0 {
		return nil
	}
	var not borrowed
	if _, err := s.trip(ctx, b); errors.As(err, &not) {
		return err
	}
	return nil
}

func (w *world) borrowed(l *leg) error {
	for _, name := range w.subject.Library {
		function, err := w.Program.Symbol(name)
		if err != nil {
			continue // the program has no such function
		}
		for i, step := range l.recording.Steps {
			if uint64(step.PC)-function.Address < function.Size && l.recording.Steps[max(0, i-1)].Place.File != "" {
				what := fmt.Sprintf("runs %s of the C library, which it is to replace", name)
				if l.past != "" {
					what = l.past + ", and " + what
				}
				return borrowed{&grade.Trouble{Doing: w.subject.Swap, What: what, Place: l.place(max(0, i-1))}}
			}
		}
	}
	return nil
}

// enters examines how a fresh fiber is entered.
func (t *trip) enters() []grade.Fault {
	l := t.entry
	if l.trouble != nil {
		text, place := l.stray()
		return []grade.Fault{{Text: "the body is not entered: " + text, Place: place}}
	}
	a := l.after.Arch()
	last := l.place(len(l.recording.Steps) - 1)
	if l.after.PC() != l.to.body {
		return []grade.Fault{
			{
				Text: "the body is not entered: the swap goes on at the return address of its caller, not where to " +
					"was prepared to go on" + in(
					last,
				),
				Place: last,
			},
		}
	}
	var faults []grade.Fault
	sp := l.after.SP()
	top, end := sp, l.to.stack+stackSize-l.to.spare
	if a.Link == "" {
		top += 8 // the return address lies in the stack, too
	}
	outside := sp < l.to.stack || top > end
	if outside {
		text, place := l.origin(sp)
		if l.to.holds(sp) {
			text = fmt.Sprintf(
				"so high that it reaches %d bytes past the end: the stack has %d bytes. Round its end down", top-end,
				end-l.to.stack,
			)
		}
		if text == "" && sp >= l.from.stack && sp <= l.from.stack+stackSize {
			text = "still in the stack that is left"
		}
		faults = append(faults, grade.Fault{
			Text:  fmt.Sprintf("the body is entered with %s outside of its stack: %#x is %s", a.SP, sp, text),
			Place: place,
		})
	}
	if (!outside || l.to.holds(sp)) && top%16 != 0 {
		rule := "a multiple of 16"
		if a.Link == "" {
			rule = "8 above a multiple of 16, since the call has pushed 8 bytes"
		}
		faults = append(
			faults, grade.Fault{Text: fmt.Sprintf("the body is entered with %s = %#x: it must be %s", a.SP, sp, rule)},
		)
	}
	for i, wanted := range l.to.args {
		if got := l.after.Get(a.Arguments[i]); got != wanted {
			text, place := l.origin(got)
			if text == "" {
				text = "no value of this run"
			}
			faults = append(faults, grade.Fault{
				Text:  fmt.Sprintf("the body gets a wrong argument in %s: %#x is %s", a.Arguments[i], got, text),
				Place: place,
			})
		}
	}
	return faults
}

// others examines what the swaps changed and need not.
func (t *trip) others() []grade.Fault {
	faults := t.entry.to.spilled
	legs := []*leg{t.entry}
	for _, p := range t.passages {
		legs = append(legs, p.load)
	}
	for i, l := range legs {
		if wrong := i == 0 && !l.arrived(l.to.body) || i > 0 && !l.arrived(l.to.back); wrong {
			return []grade.Fault{{Text: "not examined, since a swap did not arrive where it should"}}
		}
		for _, step := range l.recording.Steps {
			for _, w := range step.Memory {
				last := w.Offset + len(w.After)
				what := ""
				switch {
				case w.Region == contextTo:
					what = fmt.Sprintf(
						"changes offset %d of the context that is entered (to), which is const", w.Offset,
					)
				case w.Region == afterFrom:
					what = fmt.Sprintf(
						"writes past the end of the context, at offset %d: it has %d bytes", t.world.size+w.Offset,
						t.world.size,
					)
				case w.Region == beforeFrom:
					what = fmt.Sprintf("writes %d bytes before the start of the context", margin-w.Offset)
				case w.Region == stackFrom && l.from.stack+uint64(last) > l.fromSP:
					what = "writes into the frame of its caller"
				case w.Region == stackTo && i > 0 && l.to.stack+uint64(last) > l.toSP:
					what = "writes into the frame that the other fiber goes on with"
				default:
					continue
				}
				faults = append(faults, grade.Fault{Text: "the swap " + what + in(step.Place), Place: step.Place})
			}
		}
		faults = slices.Concat(faults, l.elsewhere(), l.buried(), l.backward())
		if i > 0 {
			faults = append(faults, t.passages[i-1].leaked()...)
		}
		if len(faults) > 0 {
			return faults
		}
	}
	return nil
}
