package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fiberlab/labs/machine"
)

// Watch says what Run records.
type Watch struct {
	Title   string
	Regions []Region // Address, Name, Stack and the length of Initial are given; Initial is read
	Until   []uint64 // the program counters at which the recording ends, before the instruction there
	Limit   int      // how many steps at most; 0 is DefaultLimit
	Dir     string   // where the sources are: no others are read
}

// DefaultLimit is far more than any switch needs.
const DefaultLimit = 2000

// TooLongError says that a program took Limit steps and had reached no end.
type TooLongError struct{ Limit int }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("no end after %d instructions", e.Limit)
}

// Run steps m until it reaches one of w.Until, and records each step. It returns what was recorded also with an error,
// and when the program failed: then the stop is not Reached, and the last step has a Fault. Its errors are the errors
// of m, ctx.Err() and *TooLongError.
func Run(ctx context.Context, m machine.Machine, p *machine.Program, w Watch) (*Recording, machine.Stop, error) {
	r := &Recording{Title: w.Title, Arch: m.Arch().Name, Names: m.Arch().Registers,
		Registers: map[string]Word{}, Sources: map[string][]string{}}
	before, err := m.Registers()
	if err != nil {
		return r, machine.Stop{}, err
	}
	for _, name := range r.Names {
		r.Registers[name] = Word(before.Get(name))
	}
	images := make([][]byte, len(w.Regions))
	for i, region := range w.Regions {
		if err := m.Read(uint64(region.Address), region.Initial); err != nil {
			return r, machine.Stop{}, err
		}
		images[i] = slices.Clone(region.Initial)
	}
	r.Regions = w.Regions
	limit := w.Limit
	if limit == 0 {
		limit = DefaultLimit
	}
	for range limit {
		step := Step{PC: Word(before.PC())}
		step.Place, _ = p.Place(before.PC())
		step.Source = r.line(step.Place, w.Dir)
		code := machine.Fetch(m, before.PC())
		length := 0
		step.Instruction, length = machine.Disassemble(m.Arch(), code, before.PC())
		step.System = machine.IsSystemCall(m.Arch(), code)
		var outside []byte
		if operand, found := machine.Operand(before, code); found {
			step.Operand = Word(operand)
			if mayWrite(m.Arch(), step.Instruction) {
				outside = elsewhere(m, w.Regions, operand)
			}
		}
		stop, err := m.Step(ctx)
		if err != nil {
			return r, stop, err
		}
		if stop.Kind == machine.Exited || stop.Kind == machine.Killed {
			step.Fault = stop.String()
			r.Steps = append(r.Steps, step)
			return r, stop, nil
		}
		after, err := m.Registers()
		// the refusal has ended the emulator along with it
		if stop.Kind == machine.Refused && errors.Is(err, machine.ErrEnded) {
			step.Fault = stop.String()
			r.Steps = append(r.Steps, step)
			return r, stop, nil
		}
		if err != nil {
			return r, stop, err
		}
		step.Next = Word(after.PC())
		for _, name := range r.Names {
			was, is := before.Get(name), after.Get(name)
			if was == is || name == m.Arch().PC && is == was+uint64(length) {
				continue
			}
			step.Registers = append(step.Registers, Change{name, Word(was), Word(is)})
		}
		if mayWrite(m.Arch(), step.Instruction) {
			if step.Memory, err = changes(m, w.Regions, images); err != nil {
				return r, stop, err
			}
			step.Elsewhere = changedElsewhere(m, p, uint64(step.Operand), outside)
		}
		if stop.Kind != machine.Stepped {
			step.Fault = stop.String()
		}
		r.Steps = append(r.Steps, step)
		if stop.Kind != machine.Stepped {
			return r, stop, nil
		}
		if slices.Contains(w.Until, after.PC()) {
			return r, machine.Stop{Kind: machine.Reached}, nil
		}
		before = after
	}
	return r, machine.Stop{}, &TooLongError{limit}
}

// changes compares the regions with their images, which it brings up to date.
func changes(m machine.Machine, regions []Region, images [][]byte) ([]Write, error) {
	var writes []Write
	for i, region := range regions {
		now := make([]byte, len(images[i]))
		if err := m.Read(uint64(region.Address), now); err != nil {
			return nil, err
		}
		if bytes.Equal(now, images[i]) {
			continue
		}
		for first := 0; first < len(now); first++ {
			if now[first] == images[i][first] {
				continue
			}
			last := first
			for k := first; k < len(now) && k <= last+8; k++ {
				if now[k] != images[i][k] {
					last = k
				}
			}
			writes = append(
				writes, Write{i, first, slices.Clone(images[i][first : last+1]), slices.Clone(now[first : last+1])},
			)
			first = last
		}
		images[i] = now
	}
	return writes, nil
}

// operandSize is more than an instruction of a switch stores at one place.
const operandSize = 64

// elsewhere reads the memory at an operand that lies in none of the regions. It returns nil if one holds it, or if no
// memory is there.
func elsewhere(m machine.Machine, regions []Region, operand uint64) []byte {
	size := uint64(operandSize)
	for _, region := range regions {
		switch at := uint64(region.Address); {
		case operand-at < uint64(len(region.Initial)):
			return nil
		case at > operand:
			size = min(size, at-operand)
		}
	}
	bytes := make([]byte, size)
	if m.Read(operand, bytes) != nil {
		return nil
	}
	return bytes
}

// changedElsewhere compares the memory at an operand with what was read there before the step.
func changedElsewhere(m machine.Machine, p *machine.Program, operand uint64, before []byte) *Elsewhere {
	now := make([]byte, len(before))
	if len(before) == 0 || m.Read(operand, now) != nil {
		return nil
	}
	first := 0
	for first < len(now) && now[first] == before[first] {
		first++
	}
	if first == len(now) {
		return nil
	}
	last := len(now)
	for now[last-1] == before[last-1] {
		last--
	}
	e := &Elsewhere{Address: Word(operand + uint64(first)), Before: before[first:last], After: now[first:last]}
	if symbol, known := p.At(uint64(e.Address)); known {
		e.Symbol = symbol.Name
	}
	return e
}

// line returns the text of a place's line, and keeps the source for the reader.
func (r *Recording) line(place machine.Place, dir string) string {
	if place.File == "" {
		return ""
	}
	lines, known := r.Sources[place.File]
	if !known {
		lines = sourceIn(dir, place.File)
		r.Sources[place.File] = lines
	}
	if place.Line < 1 || place.Line > len(lines) {
		return ""
	}
	return strings.TrimSpace(lines[place.Line-1])
}

// longestLine is how much of a line is kept, in bytes: each step repeats its line.
const longestLine = 500

// mostSource is the size of the largest source that is read, in bytes.
const mostSource = 1 << 20

// sourceIn returns the lines of a source in the folder dir. What a program says of its sources may be wrong: a name
// that leads out of dir, and what is not a plain file of usual size, has no lines.
func sourceIn(dir, name string) []string {
	if !filepath.IsLocal(name) {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	if info, err := root.Stat(name); err != nil || !info.Mode().IsRegular() || info.Size() > mostSource {
		return nil
	}
	f, err := root.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostSource))
	if err != nil {
		return nil
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	for i, line := range lines {
		lines[i] = machine.Clip(line, longestLine, " ...")
	}
	return lines
}

// Image returns the bytes of a region after so many steps.
func (r *Recording) Image(region, steps int) []byte {
	image := slices.Clone(r.Regions[region].Initial)
	for _, step := range r.Steps[:steps] {
		for _, w := range step.Memory {
			if w.Region == region {
				copy(image[w.Offset:], w.After)
			}
		}
	}
	return image
}
