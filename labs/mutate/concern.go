package mutate

import (
	"regexp"
	"slices"
	"strings"

	"fiberlab/labs/machine"
)

var (
	calls       = regexp.MustCompile(`^(call|callq|bl|blr)$`)
	leaves      = regexp.MustCompile(`^(ret|retq|jmp|jmpq|br|b)$`)
	conditional = regexp.MustCompile(`^(j[^m]\w*|b\.?(eq|ne|lt|ge|gt|le|hi|ls|hs|lo|cs|cc))$`)
	pushes      = regexp.MustCompile(`^(push|pop)[qw]?$`)
	word        = regexp.MustCompile(`\w+`)
)

// concerns returns which registers and steps the instruction is about: they lose their value if it is wrong. The
// register by which it reaches a context is not among them. A register that survives no call stands for what else the
// function does with it: rcx for the return address that it carries.
func concerns(a *machine.Arch, code []instruction, i instruction) []string {
	names, carriers := direct(a, i)
	if conditional.MatchString(i.means) { // it is about what was compared
		for n, other := range code {
			if other.start == i.start && n > 0 && code[n-1].function == i.function {
				return distinct(append(names, concerns(a, code, code[n-1])...))
			}
		}
	}
	for _, carrier := range carriers {
		names = append(names, carrier)
		for _, other := range code {
			if other.function != i.function || other.start == i.start {
				continue
			}
			if what, carried := direct(a, other); slices.Contains(carried, carrier) {
				names = append(names, what...)
			}
		}
	}
	return distinct(names)
}

// direct returns what the instruction is about by itself, and the registers in it that survive no call.
func direct(a *machine.Arch, i instruction) (names, carriers []string) {
	about := func(reg string) {
		canonical := a.Canonical(reg)
		switch {
		case canonical == "":
		case canonical == a.SP:
			names = append(names, canonical, StackPointer)
		case canonical == a.PC || canonical == a.Link:
			names = append(names, canonical, ReturnAddress)
		case slices.Contains(a.Saved, canonical) || canonical == "mxcsr" || canonical == "x87cw" || canonical == "fpcr":
			names = append(names, canonical)
		case slices.Contains(a.Arguments[:2], canonical):
			names = append(names, canonical, Argument)
		default:
			carriers = append(carriers, canonical)
		}
	}
	for n, o := range i.operands {
		switch o.kind {
		case register:
			about(o.reg)
		case memory: // the address register is of importance if it moves
			if strings.HasSuffix(o.text, "!") || a == machine.ARM64 && n+1 < len(i.operands) {
				about(o.reg)
			}
		}
		for _, name := range word.FindAllString(o.off, -1) { // MARL_REG_R12, %c[rbx]
			about(name[strings.LastIndexByte(name, '_')+1:])
			if strings.HasSuffix(name, "_FPREGS") || strings.HasSuffix(name, "_FPHEAD") {
				names = append(names, FloatingPoint)
			}
		}
		if o.kind == symbol && (o.text == "fpcr" || o.text == "nzcv") {
			about(o.text)
		}
	}
	switch i.means {
	case "stmxcsr", "ldmxcsr":
		about("mxcsr")
	case "fnstcw", "fldcw", "fnstenv", "fldenv":
		about("x87cw")
	}
	switch {
	case i.name[0] == '.':
		names = []string{Backtrace}
	case calls.MatchString(i.means):
		names = append(names, Body, ReturnAddress)
		for _, o := range i.operands {
			if o.kind == symbol {
				name, _, _ := strings.Cut(o.text, "@")
				names = append(names, name)
			}
		}
	case leaves.MatchString(i.means):
		names = append(names, ReturnAddress)
	case pushes.MatchString(i.means):
		names = append(names, StackPointer, a.SP)
	}
	return names, carriers
}
