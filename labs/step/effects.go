package step

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fiberlab/labs/record"
)

// Effect is one thing that a step changed: a register, or a word of memory.
type Effect struct {
	What          string // "rbx", "context of A +0x10"
	Before, After uint64
	Meaning       string // of After: "rbx of B"; or ""
	// the place that After was copied from, if only one is possible: "context of B +0x10", "rcx"; or ""
	From string
}

// String returns the effect in words: "rbx = 0x5fc1, rbx of B, from context of B +0x0".
func (e Effect) String() string {
	text := fmt.Sprintf("%s = %#x", e.What, e.After)
	if e.Meaning != "" {
		text += ", " + e.Meaning
	}
	if e.From != "" {
		text += ", from " + e.From
	}
	return text
}

// effectsOf returns what the step does at this position. Registers come first, except the program counter.
func (p *Player) effectsOf(step record.Step) []Effect {
	var effects, last []Effect
	for _, c := range step.Registers {
		e := Effect{
			What: c.Register, Before: uint64(c.Before), After: uint64(c.After), Meaning: p.Meaning(uint64(c.After)),
		}
		if c.Register == p.arch.PC {
			last = append(last, e)
			continue
		}
		if step.Note == "" {
			e.From = p.origin(step, e)
		}
		effects = append(effects, e)
	}
	for i := range p.recording.Regions {
		for _, word := range wordsOf(step, i) {
			e := Effect{What: p.wordName(i, word), Before: p.Word(i, word)}
			e.After = p.wordAfter(step, i, word)
			e.Meaning = p.Meaning(e.After)
			if step.Note == "" {
				e.From = p.origin(step, e)
			}
			effects = append(effects, e)
		}
	}
	return append(effects, last...)
}

// wordAfter returns what the step leaves in a word.
func (p *Player) wordAfter(step record.Step, region, word int) uint64 {
	bytes := slices.Clone(p.memory[region])
	for _, w := range step.Memory {
		if w.Region == region {
			copy(bytes[w.Offset:], w.After)
		}
	}
	return binary.LittleEndian.Uint64(bytes[word*wordSize:])
}

// origin finds where a new value stood before the step: in a register that the instruction names, else in memory.
func (p *Player) origin(step record.Step, e Effect) string {
	if e.After < leastTelling {
		return ""
	}
	var places []string
	for _, name := range p.registersIn(step.Instruction) {
		if name != e.What && p.registers[name] == e.After {
			places = append(places, name)
		}
	}
	address, addressed := p.operand(step.Instruction)
	if len(places) == 0 && !strings.Contains(e.What, "+") { // no instruction that is seen here copies memory to memory
		for i := range p.recording.Regions {
			for word := range p.Words(i) {
				at := uint64(p.recording.Regions[i].Address) + uint64(word*wordSize)
				if p.Word(i, word) == e.After && (!addressed || at-address < 2*wordSize) { // arm64 loads pairs
					places = append(places, p.wordName(i, word))
				}
			}
		}
	}
	if len(places) == 1 {
		return places[0]
	}
	return ""
}

// memoryOperand is a register with a displacement as amd64 writes it, or as arm64 does.
var memoryOperand = regexp.MustCompile(`(-?0x[0-9a-f]+)?\(%(\w+)\)|\[(\w+)(?:, #(-?\d+))?\]`)

// operand returns the address of the memory that an instruction names, if the instruction names it by a register and a
// displacement.
func (p *Player) operand(instruction string) (address uint64, found bool) {
	parts := memoryOperand.FindStringSubmatch(instruction)
	if parts == nil {
		return 0, false
	}
	base, known := p.registers[p.arch.Canonical(cmp.Or(parts[2], parts[3]))]
	displacement, err := strconv.ParseInt(cmp.Or(parts[1], parts[4], "0"), 0, 64)
	return base + uint64(displacement), known && err == nil
}

// registersIn lists the registers that an instruction names.
func (p *Player) registersIn(instruction string) []string {
	var names []string
	_, operands, _ := strings.Cut(instruction, " ")
	for _, word := range strings.FieldsFunc(operands, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9')
	}) {
		if name := p.arch.Canonical(word); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// where names the source line of the step, or its address.
func where(step record.Step) string {
	if step.Place.File == "" {
		return cmp.Or(step.Place.Function, step.PC.String())
	}
	return place(step.Place.File, step.Place.Line)
}
