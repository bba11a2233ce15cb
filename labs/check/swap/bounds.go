package swap

import (
	"fmt"
	"regexp"
	"slices"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
	"fiberlab/labs/record"
)

// holds reports whether an address lies in the fiber's stack. A stack pointer may also stand at its top.
func (f *fiber) holds(address uint64) bool { return address-f.stack <= stackSize }

// followStack keeps where the stack pointer stood last in each of the two stacks.
func (l *leg) followStack() {
	for _, sp := range l.recording.StackPointers() {
		if l.from.holds(sp) {
			l.from.left = sp
		}
	}
	l.left = [2]uint64{l.from.left, l.to.left}
}

// astride examines that the stack pointer points into one of the two stacks at each step:
// a signal handler may run at any.
func (l *leg) astride() []grade.Fault {
	for k, sp := range l.recording.StackPointers() {
		if l.from.holds(sp) || l.to.holds(sp) {
			continue
		}
		place := l.place(max(0, k-1))
		return []grade.Fault{{Place: place, Text: fmt.Sprintf(
			"%s points into neither stack for a while%s, but %s: a signal handler that runs then overwrites what "+
				"lies below. Reach a context by another register",
			l.arch.SP, in(place), l.whereabouts(sp),
		)}}
	}
	return nil
}

// whereabouts says what an address is that lies in neither stack.
func (l *leg) whereabouts(address uint64) string {
	for _, c := range []struct {
		name string
		at   uint64
	}{{"the context that is left (from)", l.from.context}, {"the context that is entered (to)", l.to.context}} {
		switch size := uint64(l.size); {
		case address-c.at < size:
			return "into " + c.name
		case address-c.at < size+margin:
			return fmt.Sprintf("past the end of %s, at offset %d: it has %d bytes", c.name, address-c.at, size)
		case c.at-address <= margin:
			return fmt.Sprintf("%d bytes before the start of %s", c.at-address, c.name)
		}
	}
	return fmt.Sprintf("to %#x", address)
}

// ofThread is a store to a thread-local variable of amd64, in the syntax of the disassembler: the variable is the last
// operand, or any operand of xchg. A comparison may have one as its last operand, too, but stores nothing.
var (
	ofThread = regexp.MustCompile(
		`^(?:(?:pop|inc|dec|neg|not)\S* |.*, )%[fg]s:[^%,]*(?:\([^)]*\))?$|^xchg\S* .*%[fg]s:`,
	)
	compares = regexp.MustCompile(`^(?:cmp|test|bt)[bwlq]? `)
)

// elsewhere examines that a swap stores to the two contexts and the two stacks alone.
func (l *leg) elsewhere() []grade.Fault {
	for _, step := range l.recording.Steps {
		text := ""
		switch e := step.Elsewhere; {
		case ofThread.MatchString(step.Instruction) && !compares.MatchString(step.Instruction):
			text = "a thread-local variable%s: a signal handler of the thread that swaps overwrites it"
		case e == nil:
			continue
		case e.Variable() == "":
			text = "memory that is neither context nor stack%s, " + l.whereabouts(uint64(e.Address))
		default:
			text = "the static variable " + e.Variable() + "%s: two threads that swap at the same time overwrite " +
				"each other's value"
		}
		return []grade.Fault{{Place: step.Place, Text: "the swap stores to " + fmt.Sprintf(text, in(step.Place)) +
			". Keep the value in a register, in the context that is left (from), or on the stack"}}
	}
	return nil
}

// buried examines that nothing is loaded from below the stack pointer where a signal handler may have overwritten it.
func (l *leg) buried() []grade.Fault {
	sps := l.recording.StackPointers()
	for k, step := range l.recording.Steps {
		operand := uint64(step.Operand)
		for i, f := range []*fiber{l.from, l.to} {
			at := l.left[i]
			if f.holds(sps[k]) {
				at = sps[k]
			}
			if !l.recording.Loads(step) || !f.holds(operand) || operand+l.arch.RedZone >= at {
				continue
			}
			return []grade.Fault{{Place: step.Place, Text: fmt.Sprintf(
				"the swap loads what it has kept %d bytes below the stack pointer%s: %s. Move %s down before you "+
					"store there, or keep the value in the context",
				at-operand, in(step.Place), record.Overwritten(l.arch), l.arch.SP,
			)}}
		}
	}
	return nil
}

// backward examines that the direction flag of amd64 is clear when a fiber goes on.
func (l *leg) backward() []grade.Fault {
	if !l.after.Backward() {
		return nil
	}
	var place machine.Place
	for _, step := range l.recording.Steps {
		if step.SetsDirection() {
			place = step.Place
		}
	}
	return []grade.Fault{{Place: place, Text: fmt.Sprintf(
		"the direction flag is set%s when the other fiber goes on: string instructions there run backwards. It must "+
			"be clear at each call and return: end with cld",
		in(place),
	)}}
}

// leaked examines the control registers that this lab's swap need not keep: each is as before the swap, or as the fiber
// that goes on had it.
func (p passage) leaked() []grade.Fault {
	for _, c := range p.load.arch.Control {
		got := p.load.after.Get(c.Name) & c.Bits
		if slices.Contains(p.load.subject.Control, c.Name) || got == p.load.departed.Get(c.Name)&c.Bits ||
			got == p.save.departed.Get(c.Name)&c.Bits {
			continue
		}
		fault := grade.Fault{Text: fmt.Sprintf("%s gets control bits that neither fiber had: %#x", c.Name, got)}
		if k, _, changed := p.load.changed(c.Name); changed {
			fault.Place = p.load.place(k)
			fault.Text += in(fault.Place)
		}
		fault.Text += ". A call must preserve them: leave " + c.Name + " alone, or save and load it"
		return []grade.Fault{fault}
	}
	return nil
}

// around reads all memory from the margin before a fiber's context to the top of its stack.
func (w *world) around(f *fiber) ([]byte, error) {
	all := make([]byte, f.stack+stackSize-(f.context-margin))
	return all, w.Read(f.context-margin, all)
}

// spilled examines what the preparation of a fiber has changed: only its context, and the stack that it was given.
func (w *world) spilled(f *fiber, before, after []byte) []grade.Fault {
	first := f.context - margin
	for at := range before {
		address := first + uint64(at)
		inside := address-f.context < uint64(w.size) || address-f.stack < stackSize-f.spare
		if inside || before[at] == after[at] {
			continue
		}
		what := fmt.Sprintf("past the end of the context, at offset %d: it has %d bytes", address-f.context, w.size)
		switch {
		case address < f.context:
			what = fmt.Sprintf("%d bytes before the start of the context", f.context-address)
		case address >= f.stack:
			what = fmt.Sprintf(
				"past the end of the stack, at offset %d: it has %d bytes", address-f.stack, stackSize-f.spare,
			)
		}
		place, _ := w.Program.Place(w.Symbol(w.subject.Prepare))
		return []grade.Fault{{Place: place, Text: fmt.Sprintf("%s writes %s", w.subject.Prepare, what)}}
	}
	return nil
}
