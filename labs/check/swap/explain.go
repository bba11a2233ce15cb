package swap

import (
	"fmt"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// saved describes a spot in the leg in which its fiber was left.
func (l *leg) saved(s spot) string {
	switch s.region {
	case contextFrom:
		return fmt.Sprintf("at offset %d", s.offset)
	case contextTo:
		return fmt.Sprintf("at offset %d of the context that is entered (to)", s.offset)
	case stackFrom:
		return onStack(l.from, l.fromSP, s.offset)
	case stackTo:
		return "on the stack that is entered"
	case afterFrom:
		return fmt.Sprintf("past the end of the context, %d bytes after it", s.offset)
	}
	return fmt.Sprintf("%d bytes before the start of the context", margin-s.offset)
}

// loadedFrom describes a spot in the leg in which its fiber is entered.
func (l *leg) loadedFrom(s spot) string {
	switch s.region {
	case contextTo:
		return fmt.Sprintf("from %d", s.offset)
	case contextFrom:
		return fmt.Sprintf("from offset %d of the context that is left (from)", s.offset)
	case stackTo:
		return "from " + onStack(l.to, l.toSP, s.offset)
	case stackFrom:
		return "from the stack that is left"
	}
	return "from outside of the context"
}

// onStack says where a word lies on a fiber's stack, seen from its stack pointer after the swap, or, of a fresh fiber,
// from the top.
func onStack(f *fiber, sp uint64, offset int) string {
	if sp == 0 {
		return fmt.Sprintf("%d bytes below the top of the fresh stack", stackSize-int(f.spare)-offset)
	}
	distance := int64(f.stack) + int64(offset) - int64(sp)
	if distance < 0 {
		return fmt.Sprintf("%d bytes below the caller's stack pointer", -distance)
	}
	return fmt.Sprintf("%d bytes above the caller's stack pointer", distance)
}

// same reports whether a spot in the leg that left a fiber is the same memory as one in the leg that enters it again.
func same(save, load spot) bool {
	return save.offset == load.offset &&
		(save.region == contextFrom && load.region == contextTo || save.region == stackFrom && load.region == stackTo)
}

// unsaved says in what way a value was not kept until the fiber is entered again, or returns "".
func (p passage) unsaved(value uint64) (string, machine.Place) {
	s, found := p.save.stored(value, 8)
	if !found {
		if half, found := p.save.stored(value, 4); found {
			at := p.save.place(half.step)
			return fmt.Sprintf("only its lower 4 bytes are saved, %s%s", p.save.saved(half), in(at)), at
		}
		return "it is never saved", machine.Place{}
	}
	at := p.save.place(s.step)
	if s.region == contextTo || s.region == stackTo {
		return fmt.Sprintf("saved %s%s: it belongs into the context that is left (from)", p.save.saved(s), in(at)), at
	}
	if p.save.word(s) == value {
		return "", at
	}
	if k, found := p.save.overwrote(s.region, s.offset, s.step); found {
		by := p.save.place(k)
		return fmt.Sprintf("saved %s%s, then overwritten there%s", p.save.saved(s), in(at), in(by)), by
	}
	return "", at
}

// register examines one register that a call must preserve, in both fibers.
func (t *trip) register(name string) []grade.Fault {
	for _, p := range t.passages {
		wanted := p.save.departed.Get(name)
		if p.load.after.Arch() == nil {
			return []grade.Fault{{Text: name + " cannot be examined: " + p.load.trouble.Error()}}
		}
		if p.load.after.Get(name) == wanted {
			continue
		}
		text, place := p.register(name, wanted)
		return []grade.Fault{{Text: name + " comes back changed: " + text, Place: place}}
	}
	return nil
}

// register says how a register came to its wrong value.
func (p passage) register(name string, wanted uint64) (string, machine.Place) {
	k, value, loaded := p.load.changed(name)
	text, place := p.unsaved(wanted)
	if text != "" {
		if from, found := p.load.lay(value, k); loaded && found && place.File == "" {
			return fmt.Sprintf(
					"%s; what it gets is loaded %s%s%s", text, p.load.loadedFrom(from), in(p.load.place(k)),
					p.instead(value),
				), p.load.place(
					k,
				)
		}
		return text, place
	}
	s, _ := p.save.stored(wanted, 8)
	saved := fmt.Sprintf("saved %s%s, ", p.save.saved(s), in(place))
	if !loaded {
		return saved + "never loaded", place
	}
	at := p.load.place(k)
	if uint32(value) == uint32(wanted) {
		return saved + "but only its lower 4 bytes are loaded" + in(at), at
	}
	if from, found := p.load.lay(value, k); found {
		if same(s, from) {
			return saved + "and what lies there changes before it is loaded" + in(at), at
		}
		return saved + "loaded " + p.load.loadedFrom(from) + in(at), at
	}
	if other, found := p.load.held(value); found {
		return fmt.Sprintf("%sbut in its place it gets what %s held%s", saved, other, in(at)), at
	}
	return fmt.Sprintf("%sbut it gets %#x%s", saved, value, in(at)), at
}

// instead says which other register's value was loaded, if it was one.
func (p passage) instead(value uint64) string {
	for _, name := range p.save.recording.Names {
		if name != p.save.arch.PC && p.save.departed.Get(name) == value {
			if s, found := p.save.stored(value, 8); found {
				return fmt.Sprintf(", where %s is saved%s", name, in(p.save.place(s.step)))
			}
		}
	}
	return ""
}

// stackPointer examines the stack pointer of both fibers when they go on.
func (t *trip) stackPointer() []grade.Fault {
	for _, p := range t.passages {
		if p.load.after.Arch() == nil {
			return []grade.Fault{{Text: "the stack pointer cannot be examined: " + p.load.trouble.Error()}}
		}
		a := p.load.after.Arch()
		got, wanted := p.load.after.SP(), p.load.toSP
		if got == wanted || !p.load.arrived(p.load.to.back) && p.load.had(a.SP, wanted) {
			continue
		}
		text, place := p.stackPointer(a, got, wanted)
		return []grade.Fault{{Text: a.SP + " comes back changed: " + text, Place: place}}
	}
	for _, p := range t.passages {
		if faults := p.load.astride(); len(faults) > 0 && p.load.arrived(p.load.to.back) {
			return faults
		}
	}
	return nil
}

func (p passage) stackPointer(a *machine.Arch, got, wanted uint64) (string, machine.Place) {
	k, _, changed := p.load.changed(a.SP)
	if !changed {
		return "it is never loaded, and still points into the stack that is left", machine.Place{}
	}
	at := p.load.place(k)
	if l := p.load; got > l.from.stack && got <= l.from.stack+stackSize {
		return "it still points into the stack that is left" + in(at), at
	}
	switch distance := int64(got - wanted); {
	case distance == -8 && a.Link == "":
		return fmt.Sprintf("it is 8 bytes too low%s: after a return, the return address is off the stack", in(at)), at
	case distance > -frameOffset && distance < 0:
		return fmt.Sprintf("it is %d bytes too low%s", -distance, in(at)), at
	case distance > 0 && distance < frameOffset:
		return fmt.Sprintf("it is %d bytes too high%s", distance, in(at)), at
	}
	if step, register, found := p.load.loaded(got); found {
		k, at = step, p.load.place(step)
		if from, found := p.load.lay(got, step); found {
			text := fmt.Sprintf("loaded %s%s", p.load.loadedFrom(from), in(at))
			for near := uint64(0); near <= 512; near += 8 {
				if s, found := p.save.stored(wanted+16-near, 8); found {
					return fmt.Sprintf("saved %s%s, %s", p.save.saved(s), in(p.save.place(s.step)), text), at
				}
			}
			if half, found := p.save.stored(wanted, 4); found {
				where := p.save.place(half.step)
				return fmt.Sprintf("only its lower 4 bytes are saved, %s%s", p.save.saved(half), in(where)), where
			}
			return "it is never saved; " + text, at
		}
		if uint32(got) == uint32(wanted) {
			return "only its lower 4 bytes are kept" + in(at), at
		}
		if other, found := p.load.held(got); found {
			return fmt.Sprintf("it gets what %s held, by way of %s%s", other, register, in(at)), at
		}
	}
	return fmt.Sprintf("it is %#x%s", got, in(at)), at
}

// arrivals examines where the swaps back led.
func (t *trip) arrivals() []grade.Fault {
	for _, p := range t.passages {
		if !p.load.arrived(p.load.to.back) {
			text, place := p.arrival()
			return []grade.Fault{{Text: text, Place: place}}
		}
		if result := p.load.after.Get(p.load.arch.Result); p.load.subject.Returns && uint32(result) != 0 {
			from, place := p.load.origin(result)
			if from != "" {
				from = ", " + from
			}
			return []grade.Fault{
				{
					Text: fmt.Sprintf(
						"the swap returns %#x in %s%s: it is to return 0", result, p.load.arch.Result, from,
					),
					Place: place,
				},
			}
		}
	}
	return nil
}

func (p passage) arrival() (string, machine.Place) {
	l := p.load
	if l.trouble == nil {
		at := l.place(len(l.recording.Steps) - 1)
		switch l.after.PC() {
		case l.from.back:
			return "the swap goes on at the return address of its own caller: the other fiber does not go on" + in(
				at,
			), at
		case l.to.body:
			return "the swap enters the body of a fiber again that was suspended in it: the return address is not " +
				"saved, or not loaded" + in(
				at,
			), at
		}
		return "the swap goes on at a place of another fiber" + in(at), at
	}
	text, place := l.stray()
	if why, _ := p.unsaved(p.save.from.back); why != "" && l.arch.Link == "" && p.save.onlyPushed() {
		text += "; the return address lies only where call has pushed it"
	} else if why != "" {
		text += "; of the return address: " + why
	} else if s, found := p.save.stored(p.save.from.back, 8); found {
		text += fmt.Sprintf("; the return address was saved %s%s", p.save.saved(s), in(p.save.place(s.step)))
	}
	return "the swap does not return to its caller: " + text, place
}

// onlyPushed reports whether the return address is still where call has pushed it, and nowhere else.
func (l *leg) onlyPushed() bool {
	_, stored := l.stored(l.from.back, 8)
	return !stored && l.word(spot{region: stackFrom, offset: int(l.fromSP-8) - int(l.from.stack)}) == l.from.back
}

// stray says how a switch came off its way.
func (l *leg) stray() (string, machine.Place) {
	text, place := l.trouble.What, l.trouble.Place
	if l.after.Arch() == nil {
		return "it " + text + in(place), place
	}
	sp := l.after.SP()
	outside := (sp < l.from.stack || sp > l.from.stack+stackSize) && (sp < l.to.stack || sp > l.to.stack+stackSize)
	switch {
	case l.past != "":
		return "it " + text + in(place) + ": " + l.past, place
	case place.File == "": // what the program counter points to is no code
		last := l.place(max(0, len(l.recording.Steps)-2))
		if from, at := l.origin(l.after.PC()); from != "" && at.File != "" {
			return fmt.Sprintf("it %s; %#x is %s", text, l.after.PC(), from), at
		} else if from != "" {
			return fmt.Sprintf("it %s; %#x is %s%s", text, l.after.PC(), from, in(last)), last
		}
		return "it " + text + in(last), last
	case outside:
		if from, at := l.origin(sp); from != "" {
			return fmt.Sprintf("it %s%s; %s is %#x, %s", text, in(place), l.arch.SP, sp, from), at
		}
	}
	text = "it " + text + in(place)
	if register, found := l.held(l.trouble.Stop.Address); found {
		text += fmt.Sprintf(": that is what %s held before the swap", register)
	} else if register, k, found := l.pointer(l.trouble.Stop.Address); found {
		text += fmt.Sprintf(": by way of %s, which has changed%s", register, in(l.place(k)))
	}
	return text, place
}

// origin says where a value came from that led the switch astray, or returns "".
func (l *leg) origin(value uint64) (string, machine.Place) {
	if k, register, found := l.loaded(value); found {
		if from, found := l.lay(value, k); found {
			return fmt.Sprintf(
					"what %s was loaded with, %s%s", register, l.loadedFrom(from), in(l.place(k)),
				), l.place(
					k,
				)
		}
		if other, found := l.held(value); found && other != register {
			return fmt.Sprintf("what %s held, which %s gets%s", other, register, in(l.place(k))), l.place(k)
		}
	}
	register, found := l.held(value)
	if !found {
		return "", machine.Place{}
	}
	if s, found := l.stored(value, 8); found && s.region == contextTo {
		at := l.place(s.step)
		return fmt.Sprintf("what %s held before the swap, saved %s%s", register, l.saved(s), in(at)), at
	}
	return fmt.Sprintf("what %s held before the swap: %s is not loaded", register, register), machine.Place{}
}
