package conventions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
	"fiberlab/labs/record"
)

// judge returns what is wrong with a visit.
type judge struct {
	calls func(*visit) []grade.Fault // with the calls of strangers; may be nil
	end   func(*visit) []grade.Fault // with what the function leaves, if it returns
}

// examine calls a function with strangers that change all that they may. If that goes wrong, and does not with
// strangers that change nothing, it looks for the one thing whose change makes it go wrong. If it goes well, a stranger
// calls the function itself.
func (c *call) examine(ctx context.Context, b *grade.Bench, j judge) (faults []grade.Fault, err error) {
	v, err := c.shared(ctx, b)
	if err != nil {
		return nil, err
	}
	faults = v.verdict(j)
	if len(faults) == 0 && c.meetings > 0 {
		return c.again(ctx, b, func(v *visit) []grade.Fault { return v.verdict(j) })
	}
	if len(faults) == 0 || c.meetings == 0 || c.lawless || len(v.met) == 0 {
		return faults, nil
	}
	r := &room{bench: b}
	defer func() { err = errors.Join(err, r.close()) }()
	quiet, err := r.make(ctx, c, nil)
	if err != nil || len(quiet.verdict(j)) > 0 {
		return faults, err
	}
	for _, lost := range c.everything(b.Program.Arch) {
		v, err := r.make(ctx, c, loss{lost})
		if err != nil {
			return nil, err
		}
		if found := v.verdict(j); len(found) > 0 {
			found[0].Text = fmt.Sprintf("%s: %s", notKept(b.Program.Arch, lost), found[0].Text)
			return found[:1], nil
		}
	}
	return faults, nil
}

// overwritten says of the first fault of a visit that the call which the stranger has made brought it about.
func (v *visit) overwritten(faults []grade.Fault) []grade.Fault {
	if len(faults) == 0 {
		return nil
	}
	what, place := "what it still needs", faults[0].Place
	for _, s := range v.steps {
		if e := s.Elsewhere; e != nil {
			place = s.Place
			what = "what it keeps at a fixed address" + in(place)
			if name := e.Variable(); name != "" {
				what = fmt.Sprintf("the static variable %s%s", name, in(place))
			}
			break
		}
	}
	seen, _, _ := strings.Cut(faults[0].Text, ": ")
	seen, _, _ = strings.Cut(seen, "; ")
	return []grade.Fault{{Place: place, Text: fmt.Sprintf(
		"%s is called again by its stranger (recursion), and the second call overwrites %s. Keep it in a "+
			"callee-saved register or on the stack: %s",
		v.function, what, seen,
	)}}
}

// notKept says what a submission relied on.
func notKept(a *machine.Arch, lost string) string {
	switch lost {
	case memory:
		return "the stranger overwrote what lies below the stack pointer, and that was still needed"
	case vectors:
		if a == machine.ARM64 {
			return "the stranger changed the vector registers (of v8 to v15 only the low halves survive a call), and " +
				"one was still needed"
		}
		return "the stranger changed the vector registers, none of which survives a call, and one was still needed"
	}
	return fmt.Sprintf("%s does not survive a call, and was still needed after it", lost)
}

// shared makes the visits of this function and of the others in its group with strangers that change all that they may,
// once, and returns the visit of this one.
func (c *call) shared(ctx context.Context, b *grade.Bench) (*visit, error) {
	return c.grouped(ctx, b, "visits", false, func(c *call) loss { return c.everything(b.Program.Arch) })
}

// again examines the function with strangers of which the first calls the function itself, and which change nothing
// else. Only if that goes wrong are its steps recorded.
func (c *call) again(
	ctx context.Context, b *grade.Bench, look func(*visit) []grade.Fault,
) (faults []grade.Fault, err error) {
	lost := func(*call) loss { return loss{recursion} }
	v, err := c.grouped(ctx, b, "visits again", true, lost)
	if err != nil || len(look(v)) == 0 {
		return nil, err
	}
	r := &room{bench: b}
	defer func() { err = errors.Join(err, r.close()) }()
	recorded, err := r.make(ctx, c, lost(c))
	if err != nil {
		return nil, err
	}
	if faults := look(recorded); len(faults) > 0 {
		return recorded.overwritten(faults), nil
	}
	return v.overwritten(look(v)), nil
}

// grouped makes the visits of a group, once, and returns the visit of this function. A group is as much as an item has
// time for, even where a step takes long.
func (c *call) grouped(
	ctx context.Context, b *grade.Bench, name string, quick bool, lost func(*call) loss,
) (*visit, error) {
	n := slices.IndexFunc(groups, func(group []*call) bool { return slices.Contains(group, c) })
	visits, err := grade.Shared(
		ctx, b, fmt.Sprint(name, " ", n),
		func(ctx context.Context) (all map[*call]*visit, err error) {
			r := &room{bench: b, quick: quick}
			defer func() { err = errors.Join(err, r.close()) }()
			all = map[*call]*visit{}
			for _, c := range groups[n] {
				all[c], err = r.make(ctx, c, lost(c))
				// the time of the item that asks first is over; the others ask for this, too
				if errors.Is(err, context.DeadlineExceeded) {
					all[c] = &visit{
						call: c, trouble: &grade.Trouble{},
						failure: grade.Fault{Text: c.function + " was not examined: the ones before took too long"},
					}
					err = nil
				}
				if err != nil {
					return nil, err
				}
			}
			return all, nil
		},
	)
	return visits[c], err
}

// verdict is what is wrong with a visit, whether it came to its end or not.
func (v *visit) verdict(j judge) []grade.Fault {
	if f, astray := v.astray(); astray {
		return []grade.Fault{f}
	}
	var faults []grade.Fault
	if j.calls != nil {
		faults = j.calls(v)
	}
	switch {
	case v.trouble != nil:
		return append(faults, v.failure)
	case v.enough > 0:
		return append(faults, v.called()...)
	}
	return append(append(faults, v.called()...), j.end(v)...)
}

// astray reports whether the function ran on into what lies behind it.
func (v *visit) astray() (grade.Fault, bool) {
	for i := 1; i < len(v.steps); i++ {
		s, was := v.steps[i], v.steps[i-1]
		if was.Jumps() || was.Place.File == "" || v.within(uint64(s.PC)) || !v.within(uint64(was.PC)) {
			continue
		}
		return grade.Fault{
			Text: fmt.Sprintf(
				"%s runs on behind its last instruction, %s%s: no ret takes it to its return address", v.function,
				was.text(), in(was.Place),
			),
			Place: was.Place,
		}, true
	}
	return grade.Fault{}, false
}

// within reports whether the address lies in the function that is called.
func (v *visit) within(pc uint64) bool {
	s, err := v.Program.Symbol(v.function)
	return err == nil && (s.Size == 0 || pc-s.Address < s.Size)
}

// failed says why a visit came to no end.
func (v *visit) failed() grade.Fault {
	t := v.trouble
	f := grade.Fault{Text: v.function + " " + t.What, Place: t.Place}
	if v.told {
		return f
	}
	i := len(v.steps) - 1
	for i > 0 && v.steps[i].Place.File == "" { // it stands where it should never have come to
		i--
	}
	if i < 0 {
		return f
	}
	if f.Place.File == "" {
		f.Place = v.steps[i].Place
	}
	for k, s := range v.steps {
		for n, m := range v.met {
			if s.returns() && uint64(s.Next) == m.back && m.at <= k {
				f.Place = s.Place
				f.Text = fmt.Sprintf(
					"%s returns into itself%s, to the instruction after its call %d of the stranger: %s", v.function,
					in(s.Place), n+1, v.unrestored(k),
				)
				return f
			}
		}
	}
	if !v.steps[i].returns() {
		f.Text += in(f.Place)
		if sp := v.value(v.Arch().SP, i); sp < v.low || sp > v.sp {
			f.Text += fmt.Sprintf(
				"; the stack pointer is %#x, outside of its stack: %s", sp, v.trail(v.Arch().SP, i, 0),
			)
		}
		f.Text += v.last(i) + v.uses(i)
		return f
	}
	f.Place = v.steps[i].Place
	a := v.Arch()
	if a.Link != "" {
		f.Text = fmt.Sprintf(
			"%s returns to a wrong address%s: %s, the return address, is %s; %s", v.function, in(f.Place), a.Link,
			v.describe(v.value(a.Link, i)), v.trail(a.Link, i, 0),
		)
		return f
	}
	sp := v.value(a.SP, i)
	word, _ := v.Word(sp) // nothing can be read where there is no memory
	said, place := v.by(sp)
	if place.File != "" {
		f.Place = place
	}
	f.Text = fmt.Sprintf(
		"%s returns to a wrong address%s: at ret the stack pointer (%s) is %s the return address, at %s: %s",
		v.function, in(f.Place), a.SP, apart(int64(sp-(v.sp-8))), v.describe(word), said,
	)
	return f
}

func apart(bytes int64) string {
	switch {
	case bytes < 0:
		return fmt.Sprintf("%d bytes below", -bytes)
	case bytes > 0:
		return fmt.Sprintf("%d bytes above", bytes)
	}
	return "where it should be, at"
}

// unrestored says why step i returns to where a call has returned before.
func (v *visit) unrestored(i int) string {
	if a := v.Arch(); a.Link == "" {
		return fmt.Sprintf(
			"at ret the stack pointer (%s) is %s the return address", a.SP, apart(int64(v.value(a.SP, i)-(v.sp-8))),
		)
	}
	return "that call changed x30, the return address, and it was not restored"
}

// returns reports whether the step is a return.
func (s step) returns() bool {
	text := s.text()
	return text == "ret" || strings.HasPrefix(text, "ret ") || text == "retq"
}

// result examines what the function returned.
func (v *visit) result(wanted uint64, what string) []grade.Fault {
	a := v.Arch()
	got := v.after.Get(a.Result)
	if got == wanted {
		return nil
	}
	return []grade.Fault{{
		Text: fmt.Sprintf(
			"%s returns %s, not %s: %s", v.function, v.describe(got), what, v.trail(a.Result, len(v.steps), 2),
		),
		Place: v.set(a.Result, len(v.steps)),
	}}
}

// constant examines that the areas which the function may not write to are as they were.
func (v *visit) constant() []grade.Fault {
	for k, now := range v.left {
		was := &v.data[k]
		if was.mine {
			continue
		}
		for i := range len(was.image) / 8 {
			if now.word(i) != was.word(i) {
				text, place := v.by(was.address + 8*uint64(i))
				return []grade.Fault{
					{
						Text:  fmt.Sprintf("%s changes %s, which it may only read: %s", v.function, was.words(i), text),
						Place: place,
					},
				}
			}
		}
	}
	return nil
}

// called examines that a stranger was called as often as it should be.
func (v *visit) called() []grade.Fault {
	if len(v.met) >= v.meetings {
		return nil
	}
	f := grade.Fault{
		Text: fmt.Sprintf(
			"%s goes to its return address after %s of the stranger (argument 1), where %s expected", v.function,
			many(len(v.met), "call", "calls"), many(v.meetings, "is", "are"),
		),
	}
	if text, place := v.decision(len(v.steps)); v.loops {
		f.Text, f.Place = f.Text+text, place
	}
	return []grade.Fault{f}
}

// decision says what was compared last before that step, and where the registers got their values.
func (v *visit) decision(before int) (string, machine.Place) {
	for i := before - 1; i >= 0; i-- {
		s := v.steps[i]
		for _, name := range []string{"cmp", "test", "cbz", "cbnz", "tbz", "tbnz", "sub", "dec", "ccmp"} {
			if !strings.HasPrefix(s.text(), name) || strings.Contains(s.text(), "sp") {
				continue
			}
			text := fmt.Sprintf("; the last decision was by %s%s", s.text(), in(s.Place))
			for _, r := range v.reads(s) {
				text += ", " + v.trail(r, i, 1)
			}
			return text, s.Place
		}
	}
	return "; nothing was compared before that" + v.uses(before), machine.Place{}
}

// uses says which instructions, before that step, read the arguments while they are in their registers.
func (v *visit) uses(before int) string {
	text := ""
	for n, register := range v.Arch().Arguments[:len(v.args)] {
		var by []string
		for i, s := range v.steps[:before] {
			if i > 0 {
				if _, changed := v.changed(register, i); changed {
					break
				}
			}
			if slices.Contains(v.reads(s), register) {
				by = append(by, s.text()+in(s.Place))
			}
		}
		if len(by) == 0 {
			by = []string{"nothing"}
		}
		text += fmt.Sprintf(
			"; argument %d, in %s at first, is used by %s", n+1, register, strings.Join(by[:min(2, len(by))], " and "),
		)
	}
	return text
}

// preserved examines what the caller finds after the return.
func (v *visit) preserved() []grade.Fault {
	var faults []grade.Fault
	a := v.Arch()
	if v.after.SP() != v.sp {
		distance := int64(v.after.SP() - v.sp)
		faults = append(faults, grade.Fault{
			Text: fmt.Sprintf(
				"%s returns with the stack pointer (%s) %s where it was: %s", v.function, a.SP, apart(distance),
				v.trail(a.SP, len(v.steps)-1, 0),
			),
			Place: v.set(a.SP, len(v.steps)-1)})
	}
	kept := slices.Clone(a.Control)
	for _, name := range a.Saved {
		kept = append(kept, machine.Control{Name: name, Bits: ^uint64(0)})
	}
	for _, r := range kept {
		name := r.Name
		if (v.after.Get(name)^v.before.Get(name))&r.Bits == 0 {
			continue
		}
		text := v.trail(name, len(v.steps), 0)
		faults = append(
			faults,
			grade.Fault{Text: fmt.Sprintf("%s returns with %s changed: it holds %s; %s", v.function, name,
				v.describe(v.after.Get(name)), text), Place: v.set(name, len(v.steps))},
		)
	}
	faults = append(append(faults, v.backward()...), v.buried()...)
	if v.stray >= 0 {
		faults = append(faults, grade.Fault{
			Text: fmt.Sprintf(
				"%s writes to the caller's frame, %d bytes above the caller's stack pointer", v.function, v.stray,
			),
		})
	}
	return faults
}

// backward examines that the direction flag of amd64 is clear at each call of a stranger and at the return.
func (v *visit) backward() []grade.Fault {
	when := ""
	for n, m := range v.met {
		if m.regs.Backward() && when == "" {
			when = fmt.Sprintf("makes call %d of the stranger", n+1)
		}
	}
	if v.after.Backward() && when == "" {
		when = "returns"
	}
	if when == "" {
		return nil
	}
	var place machine.Place
	for _, s := range v.steps {
		if strings.HasPrefix(s.Instruction, "std") || strings.HasPrefix(s.Instruction, "popf") {
			place = s.Place
		}
	}
	return []grade.Fault{{Place: place, Text: fmt.Sprintf(
		"%s %s with the direction flag set%s: it must be clear at each call and return, since string instructions "+
			"run backwards otherwise. Clear it by cld",
		v.function, when, in(place),
	)}}
}

// buried examines that nothing is loaded from below the stack pointer where a signal handler may have overwritten it.
func (v *visit) buried() []grade.Fault {
	a := v.Arch()
	sps := map[*record.Recording][]uint64{}
	for _, s := range v.steps {
		if sps[s.leg] == nil {
			sps[s.leg] = s.leg.StackPointers()
		}
		operand, sp := uint64(s.Operand), sps[s.leg][s.index]
		if !s.leg.Loads(s.Step) || operand < v.low || operand+a.RedZone >= sp || sp > v.sp {
			continue
		}
		return []grade.Fault{{Place: s.Place, Text: fmt.Sprintf(
			"%s loads what it has kept %d bytes below the stack pointer%s: %s. Move %s down before you store there",
			v.function, sp-operand, in(s.Place), record.Overwritten(a), a.SP)}}
	}
	return nil
}

// aligned examines the stack pointer at each call and, where the processor asks for it, at all times.
func (v *visit) aligned() []grade.Fault {
	a := v.Arch()
	for n, m := range v.met {
		sp := m.regs.SP()
		if a.Link == "" {
			sp += 8
		}
		if sp%16 != 0 {
			i := m.at - 1 // the call itself
			return []grade.Fault{{
				Text: fmt.Sprintf(
					"alignment: %s makes call %d%s with the stack pointer (%s) %d bytes above a multiple of 16: %s",
					v.function, n+1, in(v.steps[i].Place), a.SP, sp%16, v.trail(a.SP, i, 0),
				),
				Place: v.set(a.SP, i)}}
		}
	}
	if a != machine.ARM64 {
		return nil
	}
	for _, s := range v.steps {
		for _, c := range s.Registers {
			if c.Register == a.SP && c.After%16 != 0 {
				return []grade.Fault{
					{
						Text: fmt.Sprintf(
							"alignment: the stack pointer (sp) is no multiple of 16 after %s%s", s.text(), in(s.Place),
						),
						Place: s.Place,
					},
				}
			}
		}
	}
	return nil
}
