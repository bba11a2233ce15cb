package mutate

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fiberlab/labs/machine"
)

var (
	memoryARM64   = regexp.MustCompile(`^\[\s*([^,]*?)\s*(?:,\s*(.*?)\s*)?\](!?)$`)
	registerARM64 = regexp.MustCompile(`^([xwdsqvbh])(\d+)$`)
)

func operandARM64(text string) operand {
	if m := memoryARM64.FindStringSubmatch(text); m != nil {
		return operand{
			text: text, kind: memory, reg: m[1], off: strings.TrimPrefix(m[2], "#"),
			make: func(off, reg string) string {
				if off == "" {
					return "[" + reg + "]" + m[3]
				}
				if strings.HasPrefix(off, "%") || machine.ARM64.Canonical(off) != "" {
					return "[" + reg + ", " + off + "]" + m[3]
				}
				return "[" + reg + ", #" + off + "]" + m[3]
			},
		}
	}
	switch {
	case strings.HasPrefix(text, "#"):
		return operand{
			text: text, kind: immediate, off: text[1:], make: func(off, _ string) string { return "#" + off },
		}
	case machine.ARM64.Canonical(text) != "" && text != "fpcr" && text != "nzcv":
		return operand{text: text, kind: register, reg: text, make: func(_, reg string) string { return reg }}
	}
	return operand{text: text}
}

// partARM64 returns the lower half of a register, or "".
func partARM64(reg string) string {
	switch {
	case reg == "sp":
		return "wsp"
	case reg == "fp" || reg == "lr":
		reg = machine.ARM64.Canonical(reg)
	}
	m := registerARM64.FindStringSubmatch(reg)
	if m == nil {
		return ""
	}
	half, ok := map[string]string{"x": "w", "q": "d", "d": "s"}[m[1]]
	if !ok {
		return ""
	}
	return half + m[2]
}

// insteadARM64 returns the registers that are taken by mistake for reg, as written.
func insteadARM64(reg string) []string {
	m := registerARM64.FindStringSubmatch(reg)
	if m != nil && m[1] != "x" && m[1] != "w" {
		n, _ := strconv.Atoi(m[2])
		if n >= 8 && n <= 15 {
			return []string{m[1] + strconv.Itoa(8+(n-7)%8)}
		}
		return []string{m[1] + next(m[2], "0", "1"), m[1] + "8"}
	}
	letter := "x"
	if m != nil {
		letter = m[1]
	}
	var all []string
	for _, other := range confused(machine.ARM64, machine.ARM64.Canonical(reg)) {
		all = append(all, letter+other[1:])
	}
	return all
}

// Instructions that undo one another.
var oppositesARM64 = map[string]string{
	"stp": "ldp", "str": "ldr", "stur": "ldur", "ldp": "stp", "ldr": "str", "ldur": "stur",
}

var (
	conditionARM64 = regexp.MustCompile(`^(b\.?|csel|cset)?(eq|ne|lt|ge|gt|le|hi|ls|hs|lo|cs|cc)$`)
	inverseARM64   = map[string]string{
		"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt",
		"hi": "ls", "ls": "hi", "hs": "lo", "lo": "hs", "cs": "cc", "cc": "cs", "cbz": "cbnz", "cbnz": "cbz",
		"tbz": "tbnz", "tbnz": "tbz",
	}
)

func faultsARM64(i instruction) []fault {
	var all []fault
	add := func(kind Kind, becomes string, names ...string) {
		if becomes != i.source {
			all = append(all, fault{kind, becomes, names})
		}
	}
	pair := strings.HasPrefix(i.name, "stp") || strings.HasPrefix(i.name, "ldp")
	for n, o := range i.operands {
		switch o.kind {
		case register:
			for _, reg := range insteadARM64(o.reg) {
				if i.name == "ldp" &&
					slices.ContainsFunc(
						i.operands, func(p operand) bool { return p.kind == register && p.reg == reg },
					) {
					continue // one register is loaded twice: no processor need accept that
				}
				add(Register, i.with(n, reg))
			}
		case memory:
			all = append(all, addressesARM64(i, n, o, pair)...)
		case immediate:
			if n > 0 && i.operands[n-1].kind == memory { // the address register moves by it afterwards
				add(Offset, i.with(n, o.make(moved(o.off, 16), "")), StackPointer)
				add(Index, i.render(i.name, i.texts()[:n]), StackPointer)
				continue
			}
			for _, f := range constants(i, n, o, 16) {
				add(f.kind, f.becomes, f.names...)
			}
		}
	}
	if becomes := narrowARM64(i); becomes != "" {
		add(Width, becomes)
	}
	o := i.operands
	switch {
	case len(o) == 2 && i.name == "mov" && o[0].kind == register && o[1].kind == register:
		add(Exchanged, i.render(i.name, []string{o[1].text, o[0].text}))
	case len(o) == 2 && (i.name == "msr" || i.name == "mrs"):
		add(Exchanged, i.render(next(i.name, "msr", "mrs"), []string{o[1].text, o[0].text}))
	case oppositesARM64[i.name] != "":
		add(Exchanged, i.render(oppositesARM64[i.name], i.texts()))
	}
	if pair && len(o) > 2 {
		texts := i.texts()
		texts[0], texts[1] = texts[1], texts[0]
		add(Exchanged, i.render(i.name, texts))
	}
	if opposite := inverseARM64[i.name]; opposite != "" {
		add(Condition, i.render(opposite, i.texts()))
	} else if m := conditionARM64.FindStringSubmatch(i.name); m != nil {
		add(Condition, i.render(m[1]+inverseARM64[m[2]], i.texts()))
	}
	return all
}

// addressesARM64 are the faults in a memory operand.
func addressesARM64(i instruction, n int, o operand, pair bool) []fault {
	var all []fault
	if other := otherContext(machine.ARM64, o.reg); other != "" {
		all = append(all, fault{Direction, i.with(n, o.make(o.off, other)), []string{Context}})
	} else if !strings.HasPrefix(o.reg, "%") {
		for _, reg := range insteadARM64(o.reg) {
			all = append(all, fault{Register, i.with(n, o.make(o.off, reg)), addressed(machine.ARM64, o.reg)})
		}
	}
	writesBack := strings.HasSuffix(o.text, "!")
	slots := []int64{8, -8}
	if writesBack {
		slots = []int64{16, -16} // so that the stack pointer stays aligned
		all = append(all, fault{Index, i.with(n, strings.TrimSuffix(o.text, "!")), []string{StackPointer}})
	} else if n+1 < len(i.operands) || machine.ARM64.Canonical(o.off) != "" {
		return all // the offset is another operand, or a register
	}
	for _, slot := range slots {
		all = append(all, fault{Offset, i.with(n, o.make(moved(o.off, slot), o.reg)), nil})
	}
	if !pair && !writesBack { // stp and ldp take whole slots only
		all = append(all, fault{Half, i.with(n, o.make(moved(o.off, 4), o.reg)), nil})
	}
	return all
}

// narrowARM64 is the instruction with the lower half of its registers, or "".
func narrowARM64(i instruction) string {
	switch i.name {
	case "stp", "ldp", "str", "ldr", "stur", "ldur", "mov", "add", "sub", "and", "cmp":
	default:
		return ""
	}
	operands, changed := i.texts(), false
	for n, o := range i.operands {
		if o.kind == register {
			part := partARM64(o.reg)
			if part == "" {
				return ""
			}
			operands[n], changed = part, true
		}
	}
	if !changed {
		return ""
	}
	return i.render(i.name, operands)
}
