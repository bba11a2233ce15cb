// Package mutate makes faulty sources out of right ones, one small fault in each: the mistakes that people make when
// they write a context switch. Nothing is inserted. With them a grader, or a test, proves that it sees each of these
// faults, and names the register or the step that is wrong.
//
// What to read, in this order:
//
//	mutate.go       a mutant, and all mutants of an assembly source
//	source.go       where the instructions stand in a source
//	instruction.go  the parts of an instruction
//	amd64.go        the faults that it may have, on amd64
//	arm64.go        on arm64
//	order.go        which neighbours may change places
//	concern.go      which registers and steps an instruction is about
//	c.go            the faults that a statement in C may have
//	concurrent.go   those of concurrent code
//	equivalents.go  the list of mutants that are as right as their source
package mutate

import (
	"fmt"
	"slices"
	"strings"

	_ "fiberlab/internal/platform/system"
	"fiberlab/labs/machine"
)

// Mutant is a source with one fault in it.
type Mutant struct {
	File     string
	Function string // around the fault: in assembly, the last label before it that .globl or .type declares
	Line     int    // of the fault, in the source and in Text: mutants keep all line numbers
	Kind     Kind   // of the fault
	Original string // the instruction or the statement, with single spaces
	Changed  string // what stands in its place; of Swapped, the instruction that now comes first; empty for Dropped
	Text     string // the whole source
	// registers (machine.Arch.Canonical), steps and functions: a right diagnosis names one of them, or the line
	Names []string
	// if nothing is left of the function: those that call it, of which a diagnosis may name one
	Callers []string
	// why the mutant is as right as its source, if that is plain from the instructions alone; else empty
	Same string
	nth  int // among mutants of the same name, from 1
}

// Kind is a kind of fault.
type Kind string

// The kinds of faults.
const (
	Dropped    Kind = "dropped"    // the instruction or the statement is missing
	Register   Kind = "register"   // another register
	Direction  Kind = "direction"  // the other context: saved to the loaded one, loaded from the saved one
	Offset     Kind = "offset"     // the next or the previous slot
	Half       Kind = "half"       // half a slot further
	Width      Kind = "width"      // only a part of the register
	Exchanged  Kind = "exchanged"  // source and destination, two registers of a pair, or two arguments of a call
	Swapped    Kind = "swapped"    // with the instruction that follows
	Alignment  Kind = "alignment"  // to half as much
	Constant   Kind = "constant"   // another number
	Condition  Kind = "condition"  // the opposite one
	Index      Kind = "index"      // the address register keeps its value
	Comparison Kind = "comparison" // in C: its opposite, or with the border on the other side
	Operator   Kind = "operator"   // in C: minus for plus
	Order      Kind = "order"      // in C: a weaker memory order
	Once       Kind = "once"       // in C: if for while
	State      Kind = "state"      // in C: another name of the same enum
	Element    Kind = "element"    // in C: the next one of an array
)

// Steps that a diagnosis may name instead of a register.
const (
	ReturnAddress = "return address"
	StackPointer  = "stack pointer"
	Argument      = "argument"
	Aligned       = "alignment"
	Body          = "body"           // that a fiber's function is called
	Backtrace     = "backtrace"      // that it ends where the fiber begins
	Context       = "context"        // which of the two is written, and which is read
	FloatingPoint = "floating-point" // where a context of the C library has that part of its state
)

// Name is the mutant's name for people and for lists. It does not depend on line numbers, and no two mutants of a
// source have the same.
func (m Mutant) Name() string {
	name := fmt.Sprintf("%s: %s: %s: %s", m.File, m.Function, m.Kind, m.Original)
	if m.Changed != "" {
		name += " => " + m.Changed
	}
	if m.nth > 1 {
		name += fmt.Sprintf(" (%d)", m.nth)
	}
	return name
}

// Assembly returns every mutant that differs from an assembly source in one instruction, or in the order of two
// neighbours. The syntax is the GNU assembler's (AT&T on amd64). Comments, labels and directives stay as they are, but
// for .cfi_undefined, which ends backtraces and counts as an instruction. Some mutants may not assemble.
func Assembly(a *machine.Arch, file, text string) []Mutant {
	return mutants(a, file, text, instructions(a, text))
}

// Inline returns every such mutant of the assembly in a C source, each instruction of which is a string on a separate
// line, with its line end: "movq %%rbx, %c[rbx](%[from])\n\t".
func Inline(a *machine.Arch, file, text string) []Mutant {
	return mutants(a, file, text, quoted(a, text))
}

func mutants(a *machine.Arch, file, text string, code []instruction) []Mutant {
	var all []Mutant
	for at, i := range code {
		add := func(m Mutant) {
			m.File, m.Function, m.Line, m.Original = file, i.function, i.line, i.text()
			all = append(all, m)
		}
		for _, f := range faults(a, i) {
			names := concerns(a, code, i)
			if f.becomes != "" {
				names = append(names, concerns(a, code, i.as(f.becomes))...)
			}
			add(Mutant{
				Kind: f.kind, Changed: spaced(f.becomes), Names: distinct(append(names, f.names...)),
				Text: text[:i.start] + f.becomes + text[i.end:],
			})
		}
		if at+1 == len(code) || !i.leadsTo(code[at+1]) {
			continue
		}
		next := code[at+1]
		if next.text() == i.text() {
			continue
		}
		same := ""
		if commute(a, i, next) {
			same = "neither of the two instructions reads or writes what the other one writes"
		}
		add(Mutant{
			Kind: Swapped, Changed: next.text(), Same: same,
			Names: distinct(append(concerns(a, code, i), concerns(a, code, next)...)),
			Text:  text[:i.start] + next.source + text[i.end:next.start] + i.source + text[next.end:],
		})
	}
	return numbered(all)
}

// numbered tells mutants of the same name apart, and leaves out mutants that are the same altogether.
func numbered(all []Mutant) []Mutant {
	seen, texts := map[string]int{}, map[string]bool{}
	var kept []Mutant
	for _, m := range all {
		if texts[m.Text] {
			continue
		}
		texts[m.Text] = true
		name := m.Name()
		seen[name]++
		m.nth = seen[name]
		kept = append(kept, m)
	}
	return kept
}

// spaced has single spaces between words.
func spaced(text string) string { return strings.Join(strings.Fields(text), " ") }

func distinct(names []string) []string {
	var kept []string
	for _, name := range names {
		if !slices.Contains(kept, name) {
			kept = append(kept, name)
		}
	}
	return kept
}
