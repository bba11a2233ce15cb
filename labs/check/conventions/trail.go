package conventions

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"fiberlab/labs/machine"
)

// describe says what a value is.
func (v *visit) describe(value uint64) string {
	if origin, known := v.origins[value]; known {
		return origin
	}
	for known, origin := range v.origins {
		switch {
		case value != 0 && value == known&0xffffffff:
			return "the lower half of " + origin
		case value != 0 && value == uint64(int64(int32(known))):
			return "the lower half of " + origin + ", extended by its sign"
		}
	}
	for i := range v.data {
		a := &v.data[i]
		if off := value - a.address; off < uint64(len(a.image)) || off == uint64(len(a.image)) && off > 0 {
			if off == 0 {
				return "the address of " + a.name
			}
			return fmt.Sprintf("the address of %s and %d bytes", a.name, off)
		}
	}
	if off := int64(value - v.sp); off > -stackRoom && off < above {
		return fmt.Sprintf("the caller's stack pointer%s", signed(off))
	}
	if s, known := v.Program.At(value); known && s.Size > 0 {
		return fmt.Sprintf("an address in %s", s.Name)
	}
	return fmt.Sprintf("%#x", value)
}

func signed(off int64) string {
	switch {
	case off > 0:
		return fmt.Sprintf(" and %d bytes", off)
	case off < 0:
		return fmt.Sprintf(" less %d bytes", -off)
	}
	return ""
}

// at is a place as it stands in a text.
func at(p machine.Place) string {
	if p.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", p.File[strings.LastIndexByte(p.File, '/')+1:], p.Line)
}

// in is a place behind a text.
func in(p machine.Place) string {
	if where := at(p); where != "" {
		return " (" + where + ")"
	}
	return ""
}

// changed returns the last step before number before in which the submission changed the register.
func (v *visit) changed(register string, before int) (int, bool) {
	for i := min(before, len(v.steps)) - 1; i >= 0; i-- {
		for _, c := range v.steps[i].Registers {
			if c.Register == register {
				return i, true
			}
		}
	}
	return 0, false
}

// value returns what a register held before a step of the submission.
func (v *visit) value(register string, i int) uint64 {
	s := v.steps[i]
	for k := s.index - 1; k >= 0; k-- {
		for _, c := range s.leg.Steps[k].Registers {
			if c.Register == register {
				return uint64(c.After)
			}
		}
	}
	return uint64(s.leg.Registers[register])
}

// set returns the place where a register got its value, as of so many steps.
func (v *visit) set(register string, before int) machine.Place {
	if i, known := v.changed(register, before); known {
		return v.steps[i].Place
	}
	return machine.Place{}
}

var (
	words   = regexp.MustCompile(`[a-z][a-z0-9]*`)
	remarks = regexp.MustCompile(`/\*.*|//.*|^[A-Za-z0-9_.$]+:\s*`)
)

// text is the instruction of a step as its source has it, in one line.
func (s step) text() string {
	source := remarks.ReplaceAllString(s.Source, "")
	if source == "" {
		source = s.Instruction
	}
	return strings.Join(strings.Fields(source), " ")
}

// reads returns the registers that an instruction names, but for the ones that are given.
func (v *visit) reads(s step, without ...string) []string {
	var all []string
	fields := strings.SplitN(s.text(), " ", 2)
	for _, word := range words.FindAllString(fields[len(fields)-1], -1) {
		r := v.Arch().Canonical(word)
		if r != "" && r != v.Arch().SP && !slices.Contains(without, r) && !slices.Contains(all, r) {
			all = append(all, r)
		}
	}
	return all
}

// trail says where a register got its value, and the registers that it was made from got theirs: as of so many steps.
func (v *visit) trail(register string, before, depth int) string {
	i, known := v.changed(register, before)
	if !known {
		return register + " was never set"
	}
	text := fmt.Sprintf("%s was set by %s%s", register, v.steps[i].text(), in(v.steps[i].Place))
	if depth > 0 {
		for _, r := range v.reads(v.steps[i], register) {
			if j, known := v.changed(r, i); known && (j != i) ||
				!known && !slices.Contains(v.Arch().Arguments[:len(v.args)], r) {
				text += ", " + v.trail(r, i, depth-1)
			}
		}
	}
	return text
}

// last says what instruction a visit that came to no end ended with,
// and where the registers that it names got their values.
func (v *visit) last(i int) string {
	text := "; the last instruction was " + v.steps[i].text()
	for _, r := range v.reads(v.steps[i]) {
		text += fmt.Sprintf(", %s held %s: %s", r, v.describe(v.value(r, i)), v.trail(r, i, 1))
	}
	return text
}

// wrote returns the last step that changed the word at addr, of the memory that is watched.
func (v *visit) wrote(addr uint64) (int, bool) {
	for i := len(v.steps) - 1; i >= 0; i-- {
		for _, w := range v.steps[i].Memory {
			first := uint64(v.steps[i].leg.Regions[w.Region].Address) + uint64(w.Offset)
			if addr+8 > first && addr < first+uint64(len(w.After)) {
				return i, true
			}
		}
	}
	return 0, false
}

// by says which instruction wrote the word at addr, and where.
func (v *visit) by(addr uint64) (string, machine.Place) {
	i, known := v.wrote(addr)
	if !known {
		return "nothing was stored there", machine.Place{}
	}
	text := "stored by " + v.steps[i].text() + in(v.steps[i].Place)
	for _, r := range v.reads(v.steps[i]) {
		if _, known := v.changed(r, i); known {
			text += ", " + v.trail(r, i, 0)
		}
	}
	return text, v.steps[i].Place
}

// loaded says which register got a value first, by which instruction, and where.
func (v *visit) loaded(value uint64) (string, machine.Place) {
	for _, s := range v.steps {
		for _, c := range s.Registers {
			if uint64(c.After) == value {
				return fmt.Sprintf(
					"; %s was loaded into %s by %s%s", v.describe(value), c.Register, s.text(), in(s.Place),
				), s.Place
			}
		}
	}
	return "", machine.Place{}
}
