package swap

import (
	"fmt"

	"fiberlab/labs/grade"
)

// The bits of the control registers that a call must preserve and that the examination draws: rounding, and what is flushed to zero.
// Exceptions stay masked, so that no instruction traps.
var drawn = map[string]uint64{
	"mxcsr": 0xe040,    // flush to zero, rounding control, denormals are zero
	"x87cw": 0x0c00,    // rounding control
	"fpcr":  0x3c00000, // default NaN, flush to zero, rounding mode
}

// control draws a value for a control register.
func (w *world) control(name string, now uint64) uint64 {
	return now&^drawn[name] | w.bench.Random.Uint64()&drawn[name]
}

// controlWords examines the control registers of both fibers when they go on.
func (t *trip) controlWords() []grade.Fault {
	var faults []grade.Fault
	for _, name := range t.world.subject.Control {
		for _, p := range t.passages {
			if p.load.after.Arch() == nil {
				return []grade.Fault{{Text: "not examined: " + p.load.trouble.Error()}}
			}
			wanted, got := p.save.departed.Get(name)&drawn[name], p.load.after.Get(name)&drawn[name]
			if wanted == got {
				continue
			}
			fault := grade.Fault{Text: fmt.Sprintf("%s comes back changed: its control bits were %#x and are %#x", name, wanted, got)}
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
