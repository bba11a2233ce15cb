package swap

import (
	"fmt"
	"slices"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// controlWords examines the control registers of both fibers when they go on.
func (t *trip) controlWords() []grade.Fault {
	var faults []grade.Fault
	for _, name := range t.world.subject.Control {
		known := t.world.Arch().Control
		bits := known[slices.IndexFunc(known, func(c machine.Control) bool { return c.Name == name })].Bits
		for _, p := range t.passages {
			if p.load.after.Arch() == nil {
				return []grade.Fault{{Text: "not examined: " + p.load.trouble.Error()}}
			}
			wanted, got := p.save.departed.Get(name)&bits, p.load.after.Get(name)&bits
			if wanted == got {
				continue
			}
			fault := grade.Fault{
				Text: fmt.Sprintf("%s comes back changed: its control bits were %#x and are %#x", name, wanted, got),
			}
			if k, _, changed := p.load.changed(name); changed {
				fault.Place = p.load.place(k)
				fault.Text += ", loaded" + in(fault.Place)
			} else {
				fault.Text += ": it is never loaded"
			}
			faults = append(faults, fault)
			break
		}
	}
	return faults
}

// systemCalls examines that no swap makes one.
func (t *trip) systemCalls() []grade.Fault {
	for _, p := range t.passages {
		if !p.load.arrived(p.load.to.back) {
			return []grade.Fault{{Text: "not examined, since a swap did not arrive where it should"}}
		}
		for _, step := range p.load.recording.Steps {
			if step.System {
				return []grade.Fault{{Text: "the swap makes a system call" + in(step.Place), Place: step.Place}}
			}
		}
	}
	return nil
}
