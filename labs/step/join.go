package step

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"fiberlab/labs/machine"
	"fiberlab/labs/record"
)

// Join makes one recording of several that follow one another in the same program. Where one begins, a step with a
// note, its title, changes what differs from the end of the one before. Values that registers hold there are named
// after the fiber whose stack is in use: "rbx of B". Regions are the same if their names are.
func Join(title string, parts []*record.Recording) (*record.Recording, error) {
	if len(parts) == 0 {
		return nil, errors.New("nothing was recorded")
	}
	arch, err := machine.ByName(parts[0].Arch)
	if err != nil {
		return nil, err
	}
	all := &record.Recording{
		Title: title, Arch: parts[0].Arch, Names: parts[0].Names, Registers: parts[0].Registers,
		Sources: map[string][]string{},
	}
	var memory [][]byte                   // of each region, as the parts so far leave it
	registers := map[string]record.Word{} // as the parts so far leave them
	departures := map[string]int{}        // of each fiber
	for i, part := range parts {
		for file, lines := range part.Sources {
			all.Sources[file] = lines
		}
		for _, label := range part.Labels {
			if !slices.Contains(all.Labels, label) {
				all.Labels = append(all.Labels, label)
			}
		}
		index := make([]int, len(part.Regions)) // of part's regions in all
		for k, region := range part.Regions {
			index[k] = slices.IndexFunc(all.Regions, func(r record.Region) bool { return r.Name == region.Name })
			if index[k] < 0 {
				index[k] = len(all.Regions)
				all.Regions = append(all.Regions, region)
				memory = append(memory, slices.Clone(region.Initial))
			} else if known := all.Regions[index[k]]; known.Address != region.Address ||
				len(known.Initial) != len(region.Initial) {
				return nil, fmt.Errorf(
					"%s is at %v in one recording and at %v in another", region.Name, known.Address, region.Address,
				)
			}
		}
		if i > 0 {
			all.Steps = append(all.Steps, between(arch, part, index, registers, memory))
		}
		for name, value := range part.Registers {
			registers[name] = value
		}
		nameRegisters(all, arch, part, departures)
		for k, region := range part.Regions {
			copy(memory[index[k]], region.Initial)
		}
		for _, s := range part.Steps {
			var writes []record.Write
			for _, w := range s.Memory {
				if w.Region >= len(part.Regions) {
					continue // a region that is not shown
				}
				w.Region = index[w.Region]
				copy(memory[w.Region][w.Offset:], w.After)
				writes = append(writes, w)
			}
			s.Memory = writes
			for _, c := range s.Registers {
				registers[c.Register] = c.After
			}
			registers[arch.PC] = s.Next
			all.Steps = append(all.Steps, s)
		}
	}
	return all, nil
}

// between is the step that leads to the start of a part.
func between(
	arch *machine.Arch, part *record.Recording, index []int, registers map[string]record.Word, memory [][]byte,
) record.Step {
	s := record.Step{Note: part.Title, PC: registers[arch.PC], Next: part.Registers[arch.PC]}
	for _, name := range part.Names {
		if before, after := registers[name], part.Registers[name]; before != after {
			s.Registers = append(s.Registers, record.Change{Register: name, Before: before, After: after})
		}
	}
	for k, region := range part.Regions {
		was := memory[index[k]]
		for at := 0; at < len(was); at += wordSize {
			end := min(at+wordSize, len(was))
			if before, after := was[at:end], region.Initial[at:end]; !bytes.Equal(before, after) {
				s.Memory = append(s.Memory, record.Write{
					Region: index[k], Offset: at, Before: slices.Clone(before), After: slices.Clone(after),
				})
			}
		}
	}
	return s
}

// nameRegisters labels what is in the registers at the start of a part.
func nameRegisters(all *record.Recording, arch *machine.Arch, part *record.Recording, departures map[string]int) {
	k := slices.IndexFunc(
		part.Regions, func(r record.Region) bool { return r.Stack && inside(r, uint64(part.Registers[arch.SP])) },
	)
	if k < 0 {
		return
	}
	fiber := part.Regions[k].Name
	fiber = fiber[strings.LastIndexByte(fiber, ' ')+1:]
	departures[fiber]++
	for _, name := range part.Names {
		value := part.Registers[name]
		named := slices.ContainsFunc(all.Labels, func(l record.Label) bool { return l.Address == value })
		in := slices.ContainsFunc(all.Regions, func(r record.Region) bool { return inside(r, uint64(value)) })
		if value < leastTelling || named || in || name == arch.PC {
			continue
		}
		text := fmt.Sprintf("%s of %s", name, fiber)
		if n := departures[fiber]; n > 1 {
			text += fmt.Sprintf(", swap %d", n)
		}
		all.Labels = append(all.Labels, record.Label{Address: value, Text: text})
	}
}

// AddFinding adds what a grader says about a place: to each step that comes from there, or to no step if there is none.
func AddFinding(r *record.Recording, place machine.Place, text, section string) {
	found := false
	for i, s := range r.Steps {
		if place.File != "" && s.Place.Line == place.Line && path.Base(s.Place.File) == path.Base(place.File) {
			r.Findings = append(r.Findings, record.Finding{Step: i, Text: text, Section: section})
			found = true
		}
	}
	if !found {
		r.Findings = append(r.Findings, record.Finding{Step: -1, Text: text, Section: section})
	}
}
