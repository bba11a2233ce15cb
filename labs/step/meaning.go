package step

import (
	"fmt"
	"path"
)

// leastTelling is the least value that is told from others: small numbers are equal by accident.
const leastTelling = 1 << 16

// nameValues names the values that have a meaning, except addresses within regions.
func (p *Player) nameValues() map[uint64]string {
	names := map[uint64]string{}
	twice := map[uint64]bool{}
	for _, register := range p.recording.Names {
		if value := p.registers[register]; value >= leastTelling && register != p.arch.PC && p.inRegion(value) == "" {
			twice[value] = names[value] != ""
			names[value] = register + " at the start"
		}
	}
	for value, is := range twice {
		if is {
			delete(names, value)
		}
	}
	for _, step := range p.recording.Steps {
		if step.Note == "" && step.Place.File != "" {
			names[uint64(step.PC)] = place(step.Place.File, step.Place.Line)
		}
	}
	for _, label := range p.recording.Labels {
		names[uint64(label.Address)] = label.Text
	}
	return names
}

// Meaning says what a value is, or returns "".
func (p *Player) Meaning(value uint64) string {
	if name := p.names[value]; name != "" {
		return name
	}
	return p.inRegion(value)
}

// inRegion names an address by the region that it lies in, or returns "".
func (p *Player) inRegion(value uint64) string {
	for _, r := range p.recording.Regions {
		if inside(r, value) {
			return fmt.Sprintf("%s +%#x", r.Name, value-uint64(r.Address))
		}
	}
	return ""
}

// place names a line of a source.
func place(file string, line int) string { return fmt.Sprintf("%s:%d", path.Base(file), line) }
