package mutate

import (
	"regexp"
	"strings"

	"fiberlab/labs/machine"
)

// instruction is one instruction of a source.
type instruction struct {
	arch       *machine.Arch
	function   string
	line       int
	block      int    // instructions of the same block follow on one another, with no label and no #if between them
	start, end int    // where it stands in the source
	source     string // as it stands there
	prefix     string // notrack, rep, with the space that follows
	name       string // the mnemonic, or the macro in its place
	means      string // the mnemonic
	space      string // between the name and the operands
	operands   []operand
}

// operand is one operand of an instruction.
type operand struct {
	text string
	kind operandKind
	reg  string                       // of a register and of a memory operand: the register as written
	off  string                       // of a memory operand: the offset as written; of an immediate: the number
	make func(off, reg string) string // the operand with another offset or register
}

type operandKind int

const (
	symbol operandKind = iota
	register
	memory
	immediate
)

var prefixed = regexp.MustCompile(`^((?:notrack|rep|repe|repne|lock)\s+)?(\S+)(\s*)(.*)$`)

// parse takes source apart.
func (i *instruction) parse(source string) {
	i.source = source
	m := prefixed.FindStringSubmatch(source)
	i.prefix, i.name, i.space, i.operands = m[1], m[2], m[3], nil
	for _, text := range split(m[4]) {
		if i.arch == machine.ARM64 {
			i.operands = append(i.operands, operandARM64(text))
		} else {
			i.operands = append(i.operands, operandAMD64(text))
		}
	}
}

// split separates operands at the commas that are in no brackets.
func split(text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var parts []string
	depth, from := 0, 0
	for i, c := range text {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, strings.TrimSpace(text[from:i]))
				from = i + 1
			}
		}
	}
	return append(parts, strings.TrimSpace(text[from:]))
}

// text is the instruction with single spaces.
func (i instruction) text() string { return spaced(i.source) }

// as is the instruction in whose place source stands.
func (i instruction) as(source string) instruction {
	means, name := i.means, i.name
	i.parse(source)
	i.means = i.name
	if i.name == name {
		i.means = means
	}
	return i
}

// render makes the instruction's source again, with another name and other operands.
func (i instruction) render(name string, operands []string) string {
	return i.prefix + name + i.space + strings.Join(operands, ", ")
}

// with is the source of the instruction with its operand n replaced.
func (i instruction) with(n int, text string) string {
	operands := i.texts()
	operands[n] = text
	return i.render(i.name, operands)
}

func (i instruction) texts() []string {
	texts := make([]string, len(i.operands))
	for n, o := range i.operands {
		texts[n] = o.text
	}
	return texts
}

// leadsTo reports whether next follows on i wherever i is reached, and nowhere else.
func (i instruction) leadsTo(next instruction) bool {
	return i.block == next.block && i.name[0] != '.' && next.name[0] != '.'
}

// fault is one way in which an instruction may be wrong.
type fault struct {
	kind    Kind
	becomes string   // what stands in its place
	names   []string // what a diagnosis may name, besides what the instruction and the changed one are about
}

// faults returns all ways in which an instruction may be wrong.
func faults(a *machine.Arch, i instruction) []fault {
	all := []fault{{kind: Dropped}}
	switch {
	case i.name[0] == '.':
	case a == machine.ARM64:
		all = append(all, faultsARM64(i)...)
	default:
		all = append(all, faultsAMD64(i)...)
	}
	return all
}
