package swap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"

	"fiberlab/labs/machine"
	"fiberlab/labs/record"
)

// spot is where a value lies: in a region of a leg, at an offset in bytes.
type spot struct {
	region, offset int
	step           int // that stored it
}

// stored looks where the swap has stored a value, of which it may have stored only the lowest bytes, width of them. It
// returns the first such store.
func (l *leg) stored(value uint64, width int) (spot, bool) {
	wanted := binary.LittleEndian.AppendUint64(nil, value)[:width]
	for region := range l.recording.Regions {
		image := l.recording.Image(region, 0)
		for k, step := range l.recording.Steps {
			for _, w := range step.Memory {
				if w.Region != region {
					continue
				}
				copy(image[w.Offset:], w.After)
				first := max(0, w.Offset-width+1)
				if i := bytes.Index(image[first:min(len(image), w.Offset+len(w.After)+width-1)], wanted); i >= 0 {
					return spot{region, first + i, k}, true
				}
			}
		}
	}
	return spot{}, false
}

// lay looks where a value lay in memory before a step. Contexts are looked at first.
func (l *leg) lay(value uint64, step int) (spot, bool) {
	if value < 1<<32 { // nothing that was drawn, and may lie anywhere
		return spot{}, false
	}
	wanted := binary.LittleEndian.AppendUint64(nil, value)
	for _, region := range []int{contextTo, contextFrom, stackTo, stackFrom, afterFrom, beforeFrom} {
		if i := bytes.Index(l.recording.Image(region, step), wanted); i >= 0 {
			return spot{region, i, -1}, true
		}
	}
	return spot{}, false
}

// word reads what lies at a spot after all steps.
func (l *leg) word(s spot) uint64 {
	image := l.recording.Image(s.region, len(l.recording.Steps))
	if s.offset+8 > len(image) {
		return 0
	}
	return binary.LittleEndian.Uint64(image[s.offset:])
}

// overwrote returns the step that changed the 8 bytes at a spot after step after.
func (l *leg) overwrote(region, offset, after int) (int, bool) {
	for k := after + 1; k < len(l.recording.Steps); k++ {
		for _, w := range l.recording.Steps[k].Memory {
			if w.Region == region && w.Offset < offset+8 && w.Offset+len(w.After) > offset {
				return k, true
			}
		}
	}
	return 0, false
}

// changed returns the last step that changed a register.
func (l *leg) changed(register string) (step int, to uint64, found bool) {
	for k := len(l.recording.Steps) - 1; k >= 0; k-- {
		for _, c := range l.recording.Steps[k].Registers {
			if c.Register == register {
				return k, uint64(c.After), true
			}
		}
	}
	return 0, 0, false
}

// loaded returns the first step that gave a register that value, and the register.
func (l *leg) loaded(value uint64) (step int, register string, found bool) {
	for k, s := range l.recording.Steps {
		for _, c := range s.Registers {
			if uint64(c.After) == value && c.Register != l.arch.PC {
				return k, c.Register, true
			}
		}
	}
	return 0, "", false
}

// pointer returns the register that was changed last to a value not far below an address, by which an instruction may
// reach it.
func (l *leg) pointer(address uint64) (register string, step int, found bool) {
	if address == 0 {
		return "", 0, false
	}
	for k := len(l.recording.Steps) - 1; k >= 0; k-- {
		for _, c := range l.recording.Steps[k].Registers {
			if c.Register != l.arch.PC && address-uint64(c.After) < biggest {
				return c.Register, k, true
			}
		}
	}
	return "", 0, false
}

// had reports whether a register had that value at some time.
func (l *leg) had(register string, value uint64) bool {
	for _, s := range l.recording.Steps {
		for _, c := range s.Registers {
			if c.Register == register && uint64(c.After) == value {
				return true
			}
		}
	}
	return false
}

// held returns the register that had that value, which was drawn, when the swap was entered.
func (l *leg) held(value uint64) (string, bool) {
	if value < 1<<32 { // a flag or a control word may have it by chance
		return "", false
	}
	for _, name := range l.recording.Names {
		if l.recording.Registers[name] == record.Word(value) {
			return name, true
		}
	}
	return "", false
}

// place is where step k comes from.
func (l *leg) place(k int) machine.Place { return l.recording.Steps[k].Place }

// in writes a place as the end of a phrase: " (swap.S:14)", or nothing if it is not known.
func in(p machine.Place) string {
	if p.File == "" {
		return ""
	}
	return fmt.Sprintf(" (%s:%d)", filepath.Base(p.File), p.Line)
}
