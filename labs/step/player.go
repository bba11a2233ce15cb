package step

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"fiberlab/labs/machine"
	"fiberlab/labs/record"
)

// wordSize is how many bytes of memory are shown as one value.
const wordSize = 8

// Player holds the state of a recorded program at one position. Position 0 is before the first step, position n after
// the nth. It may be used by one goroutine at a time.
type Player struct {
	recording *record.Recording
	arch      *machine.Arch
	at        int
	registers map[string]uint64
	memory    [][]byte // of each region
	names     map[uint64]string
	effects   [][]Effect      // of each step
	touched   map[string]bool // the registers that some step changes
	// of each region: the words that some step changes or reads, or that are pointed to at some time
	eventful [][]bool
}

// Play returns a player at position 0. The error says where the recording contradicts itself. The recording must not be
// changed afterwards.
func Play(r *record.Recording) (*Player, error) {
	arch, err := machine.ByName(r.Arch)
	if err != nil {
		return nil, fmt.Errorf("the recording: %w", err)
	}
	p := &Player{
		recording: r, arch: arch, registers: map[string]uint64{},
		touched: map[string]bool{arch.PC: true, arch.SP: true},
	}
	for _, name := range r.Names {
		p.registers[name] = uint64(r.Registers[name])
	}
	for _, name := range []string{arch.PC, arch.SP} {
		if _, has := p.registers[name]; !has {
			return nil, fmt.Errorf("the recording lacks register %s", name)
		}
	}
	for _, region := range r.Regions {
		whole := (len(region.Initial) + wordSize - 1) / wordSize * wordSize
		p.memory = append(p.memory, append(slices.Clone(region.Initial), make([]byte, whole-len(region.Initial))...))
		p.eventful = append(p.eventful, make([]bool, whole/wordSize+1))
	}
	for _, f := range r.Findings {
		if f.Step < -1 || f.Step >= len(r.Steps) {
			return nil, fmt.Errorf("the recording has no step %d, which it says is wrong: %s", f.Step+1, f.Text)
		}
	}
	p.names = p.nameValues()
	for i, step := range r.Steps {
		if err := p.check(step); err != nil {
			return nil, fmt.Errorf("step %d of the recording: %w", i+1, err)
		}
		p.effects = append(p.effects, p.effectsOf(step))
		p.noteEvents()
		p.forward()
		for _, c := range step.Registers {
			p.touched[c.Register] = p.touched[c.Register] || step.Note == ""
		}
	}
	p.noteEvents()
	p.Go(0)
	for i, step := range r.Steps {
		// what is changed from outside between swaps includes registers that no instruction looks at
		if step.Note != "" {
			shown := p.Registers()
			p.effects[i] = slices.DeleteFunc(
				p.effects[i],
				func(e Effect) bool { return slices.Contains(r.Names, e.What) && !slices.Contains(shown, e.What) },
			)
		}
	}
	return p, nil
}

// check compares what the step says was there before with what is there.
func (p *Player) check(step record.Step) error {
	for _, c := range step.Registers {
		value, has := p.registers[c.Register]
		if !has {
			return fmt.Errorf("register %s is not among those recorded", c.Register)
		}
		if value != uint64(c.Before) && c.Register != p.arch.PC {
			return fmt.Errorf(
				"%s is said to hold %v before, but the steps so far leave %#x in it", c.Register, c.Before, value,
			)
		}
	}
	for _, w := range step.Memory {
		if w.Region < 0 || w.Region >= len(p.memory) || len(w.Before) != len(w.After) || w.Offset < 0 ||
			w.Offset+len(w.After) > len(p.memory[w.Region]) {
			return fmt.Errorf(
				"%d bytes at offset %d of region %d: not in the memory that was recorded", len(w.After), w.Offset,
				w.Region,
			)
		}
		if was := p.memory[w.Region][w.Offset:][:len(w.Before)]; !bytes.Equal(was, w.Before) {
			return fmt.Errorf(
				"%s +%#x is said to hold %s before, but the steps so far leave %s there",
				p.recording.Regions[w.Region].Name, w.Offset, hex.EncodeToString(w.Before), hex.EncodeToString(was),
			)
		}
	}
	return nil
}

// Last returns the last position, which is the number of steps.
func (p *Player) Last() int { return len(p.recording.Steps) }

// At returns the position.
func (p *Player) At() int { return p.at }

// Go goes to a position, or to the first or last one if there is no such.
func (p *Player) Go(at int) {
	at = max(0, min(at, p.Last()))
	for p.at < at {
		p.forward()
	}
	for p.at > at {
		p.back()
	}
	if p.Last() > 0 {
		p.registers[p.arch.PC] = uint64(p.recording.Steps[0].PC)
	}
	if step, ok := p.Step(); ok {
		p.registers[p.arch.PC] = uint64(step.Next)
	}
}

func (p *Player) forward() {
	step := p.recording.Steps[p.at]
	for _, c := range step.Registers {
		p.registers[c.Register] = uint64(c.After)
	}
	for _, w := range step.Memory {
		copy(p.memory[w.Region][w.Offset:], w.After)
	}
	p.registers[p.arch.PC] = uint64(step.Next)
	p.at++
}

func (p *Player) back() {
	p.at--
	step := p.recording.Steps[p.at]
	for _, c := range slices.Backward(step.Registers) {
		p.registers[c.Register] = uint64(c.Before)
	}
	for _, w := range slices.Backward(step.Memory) {
		copy(p.memory[w.Region][w.Offset:], w.Before)
	}
}

// Step returns the step that led to this position. Position 0 has none.
func (p *Player) Step() (record.Step, bool) {
	if p.at == 0 {
		return record.Step{}, false
	}
	return p.recording.Steps[p.at-1], true
}

// Effects returns what that step did.
func (p *Player) Effects() []Effect {
	if p.at == 0 {
		return nil
	}
	return p.effects[p.at-1]
}

// Findings returns what a grader said about that step. At position 0 it is what the grader said about no step.
func (p *Player) Findings() []record.Finding {
	var here []record.Finding
	for _, f := range p.recording.Findings {
		if f.Step == p.at-1 {
			here = append(here, f)
		}
	}
	return here
}

// Register returns the value of a register.
func (p *Player) Register(name string) uint64 { return p.registers[name] }

// Words returns how many words a region has.
func (p *Player) Words(region int) int { return len(p.memory[region]) / wordSize }

// Word returns a word of a region.
func (p *Player) Word(region, word int) uint64 {
	return binary.LittleEndian.Uint64(p.memory[region][word*wordSize:])
}

// ChangedRegister reports whether that step changed the register.
func (p *Player) ChangedRegister(name string) bool {
	step, _ := p.Step()
	return slices.ContainsFunc(step.Registers, func(c record.Change) bool { return c.Register == name })
}

// ChangedWord reports whether that step changed a byte of the word.
func (p *Player) ChangedWord(region, word int) bool {
	step, _ := p.Step()
	return slices.Contains(wordsOf(step, region), word)
}

// ReadWord reports whether the step copied something from the word.
func (p *Player) ReadWord(region, word int) bool {
	name := p.wordName(region, word)
	return slices.ContainsFunc(p.Effects(), func(e Effect) bool { return e.From == name })
}

func (p *Player) wordName(region, word int) string {
	return fmt.Sprintf("%s +%#x", p.recording.Regions[region].Name, word*wordSize)
}

// wordsOf lists the words of a region of which the step changed something.
func wordsOf(step record.Step, region int) []int {
	var words []int
	for _, w := range step.Memory {
		for i, before := range w.Before {
			word := (w.Offset + i) / wordSize
			if w.Region == region && before != w.After[i] && !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
	}
	return words
}

// Registers lists the registers that are shown: what some step changes, and what makes clear why others are not.
func (p *Player) Registers() []string {
	var names []string
	for _, name := range p.recording.Names {
		if p.touched[name] || slices.Contains(p.arch.Saved, name) || slices.Contains(p.arch.Arguments[:2], name) {
			names = append(names, name)
		}
	}
	return names
}

// Running returns the stack that holds the stack pointer, or -1.
func (p *Player) Running() int {
	return slices.IndexFunc(p.recording.Regions, func(r record.Region) bool {
		return r.Stack && inside(r, p.registers[p.arch.SP])
	})
}

// inside reports whether an address is in the region or, as a stack pointer may be, at its end.
func inside(r record.Region, address uint64) bool {
	return address >= uint64(r.Address) && address <= uint64(r.Address)+uint64(len(r.Initial))
}

// Pointers names what points to each word of a stack: the stack pointer, and the words of other regions (the stack
// pointer of a context). The key len(words) is the end of the stack.
func (p *Player) Pointers(region int) map[int][]string {
	pointers := map[int][]string{}
	r := p.recording.Regions[region]
	point := func(value uint64, name string) {
		if inside(r, value) {
			word := int(value-uint64(r.Address)) / wordSize
			pointers[word] = append(pointers[word], name)
		}
	}
	point(p.registers[p.arch.SP], p.arch.SP)
	for i, other := range p.recording.Regions {
		for word := 0; word < p.Words(i) && !other.Stack; word++ {
			point(p.Word(i, word), p.wordName(i, word))
		}
	}
	return pointers
}

// noteEvents marks what is eventful at this position.
func (p *Player) noteEvents() {
	for i, eventful := range p.eventful {
		for word := range p.Words(i) {
			eventful[word] = eventful[word] || p.ChangedWord(i, word) || p.ReadWord(i, word)
		}
		if p.recording.Regions[i].Stack {
			for word := range p.Pointers(i) {
				eventful[word] = true
			}
		}
	}
}

const (
	alwaysWhole = 40 // words of a region, up to which all are shown
	nearby      = 2  // how many words are shown on either side of an eventful one
	gap         = -1 // stands for words that are not shown
)

// Order lists the words of a region that are shown, top down: of a stack, high addresses first. The end of a stack,
// where a stack pointer may stand, is the word behind the last one. Long regions have gaps where nothing ever happens.
func (p *Player) Order(region int) []int {
	words := p.Words(region)
	if p.recording.Regions[region].Stack {
		words++
	}
	var order []int
	for word := range words {
		near := words <= alwaysWhole ||
			slices.Contains(p.eventful[region][max(0, word-nearby):min(words, word+nearby+1)], true)
		if near {
			order = append(order, word)
		} else if len(order) == 0 || order[len(order)-1] != gap {
			order = append(order, gap)
		}
	}
	if p.recording.Regions[region].Stack {
		slices.Reverse(order)
	}
	return order
}
