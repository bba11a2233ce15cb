package mutate

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fiberlab/labs/machine"
)

// The names of the general registers on amd64, by width: 64, 32, 16 and 8 bits.
var widthsAMD64 = func() map[string][4]string {
	names := map[string][4]string{}
	for _, r := range []string{"ax", "bx", "cx", "dx"} {
		names["r"+r] = [4]string{"r" + r, "e" + r, r, r[:1] + "l"}
	}
	for _, r := range []string{"si", "di", "bp", "sp"} {
		names["r"+r] = [4]string{"r" + r, "e" + r, r, r + "l"}
	}
	for _, r := range []string{"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"} {
		names[r] = [4]string{r, r + "d", r + "w", r + "b"}
	}
	return names
}()

var (
	memoryAMD64 = regexp.MustCompile(`^(\*?)(.*?)\((%[^,()]*)(,[^()]*)?\)$`)
	vectorAMD64 = regexp.MustCompile(`^(%+[xy]mm)(\d+)$`)
	suffixed    = regexp.MustCompile(
		`^(mov|push|pop|add|sub|and|or|xor|cmp|test|lea|neg|not|inc|dec|shl|shr|sar)([qlw])$`,
	)
)

func operandAMD64(text string) operand {
	bare := strings.TrimPrefix(text, "*")
	if m := memoryAMD64.FindStringSubmatch(text); m != nil {
		return operand{
			text: text, kind: memory, off: strings.TrimSpace(m[2]), reg: m[3],
			make: func(off, reg string) string {
				return m[1] + off + "(" + reg + m[4] + ")"
			},
		}
	}
	switch {
	case strings.HasPrefix(bare, "%") && !strings.HasPrefix(bare, "%c["):
		return operand{text: text, kind: register, reg: bare, make: func(_, reg string) string {
			return text[:len(text)-len(bare)] + reg
		}}
	case strings.HasPrefix(bare, "$"):
		return operand{
			text: text, kind: immediate, off: bare[1:], make: func(off, _ string) string { return "$" + off },
		}
	}
	return operand{text: text}
}

// partAMD64 returns the register as written in another of its widths, and at which of them it is. It returns "" for a
// register that has none.
func partAMD64(reg string, narrower int) string {
	name := strings.TrimLeft(reg, "%")
	widths := widthsAMD64[machine.AMD64.Canonical(name)]
	at := slices.Index(widths[:], name)
	if at < 0 || at+narrower >= len(widths) {
		return ""
	}
	return reg[:len(reg)-len(name)] + widths[at+narrower]
}

// insteadAMD64 returns the registers that are taken by mistake for reg, as written.
func insteadAMD64(reg string) []string {
	if m := vectorAMD64.FindStringSubmatch(reg); m != nil {
		return []string{m[1] + next(m[2], "0", "1")}
	}
	name := strings.TrimLeft(reg, "%")
	canonical := machine.AMD64.Canonical(name)
	widths := widthsAMD64[canonical]
	at := slices.Index(widths[:], name)
	if at < 0 {
		return nil
	}
	var all []string
	for _, other := range confused(machine.AMD64, canonical) {
		all = append(all, reg[:len(reg)-len(name)]+widthsAMD64[other][at])
	}
	return all
}

// next is a, or b if that is what text is.
func next(text, a, b string) string {
	if text == a {
		return b
	}
	return a
}

// confused returns the registers that are taken by mistake for a general register, by their canonical names. These are
// its neighbour among those that survive a call, and the argument beside it. For a register that does not survive, one
// that does is among them.
func confused(a *machine.Arch, canonical string) []string {
	kept := slices.DeleteFunc(slices.Clone(a.Saved), func(name string) bool { return name[0] == 'd' })
	if at := slices.Index(kept, canonical); at >= 0 {
		return []string{kept[(at+1)%len(kept)]}
	}
	switch at := slices.Index(a.Arguments, canonical); {
	case canonical == a.SP:
		return []string{map[string]string{"rsp": "rbp", "sp": "x29"}[a.SP]}
	case at == 0 || at == 1:
		return []string{a.Arguments[1-at]}
	case at > 1:
		return []string{a.Arguments[at^1], kept[0]}
	case canonical == a.Link && a.Link != "":
		return []string{"x29"}
	case a == machine.ARM64:
		return []string{next(canonical, "x9", "x10"), kept[0]}
	}
	return []string{next(canonical, "r10", "r11"), kept[0]}
}

// otherContext is what is mistaken for the register that names a context, or "".
func otherContext(a *machine.Arch, reg string) string {
	switch reg {
	case "%[from]":
		return "%[to]"
	case "%[to]":
		return "%[from]"
	}
	canonical := a.Canonical(reg)
	if at := slices.Index(a.Arguments, canonical); at == 0 || at == 1 {
		return reg[:len(reg)-len(canonical)] + a.Arguments[1-at]
	}
	return ""
}

// addressed is what a diagnosis may name when memory is reached by another register than reg.
func addressed(a *machine.Arch, reg string) []string {
	if a.Canonical(reg) == a.SP {
		return []string{a.SP, StackPointer}
	}
	return nil
}

// moved returns an offset with bytes added, which is "" for none.
func moved(off string, bytes int64) string {
	value, err := strconv.ParseInt(off, 0, 64)
	switch {
	case err != nil && off != "":
		return fmt.Sprintf("%s%+d", off, bytes)
	case value+bytes == 0:
		return ""
	}
	return strconv.FormatInt(value+bytes, 10)
}

// movesAMD64 are instructions that go the other way when their operands change places.
var movesAMD64 = regexp.MustCompile(`^(mov[qlwb]?|xor[ql]|add[ql]|sub[ql]|and[ql]|cmp[qlwb])$`)

// Instructions that undo one another.
var oppositesAMD64 = map[string]string{
	"pushq": "popq", "push": "pop", "stmxcsr": "ldmxcsr", "fnstcw": "fldcw",
	"popq": "pushq", "pop": "push", "ldmxcsr": "stmxcsr", "fldcw": "fnstcw",
}

var conditionAMD64 = regexp.MustCompile(`^(j|set|cmov)(n?)(e|z|c|s|o|p|a|b|ae|be|g|l|ge|le)(q|l)?$`)

func faultsAMD64(i instruction) []fault {
	var all []fault
	add := func(kind Kind, becomes string, names ...string) {
		if becomes != i.source {
			all = append(all, fault{kind, becomes, names})
		}
	}
	for n, o := range i.operands {
		switch o.kind {
		case register:
			for _, reg := range insteadAMD64(o.reg) {
				add(Register, i.with(n, o.make("", reg)))
			}
		case memory:
			if other := otherContext(machine.AMD64, o.reg); other != "" {
				add(Direction, i.with(n, o.make(o.off, other)), Context)
			} else {
				for _, reg := range insteadAMD64(o.reg) {
					add(Register, i.with(n, o.make(o.off, reg)), addressed(machine.AMD64, o.reg)...)
				}
			}
			if machine.AMD64.Canonical(o.reg) == "rip" {
				continue
			}
			add(Offset, i.with(n, o.make(moved(o.off, 8), o.reg)))
			add(Offset, i.with(n, o.make(moved(o.off, -8), o.reg)))
			add(Half, i.with(n, o.make(moved(o.off, 4), o.reg)))
		case immediate:
			for _, f := range constants(i, n, o, 8) {
				add(f.kind, f.becomes, f.names...)
			}
		}
	}
	if becomes := narrowAMD64(i); becomes != "" {
		add(Width, becomes)
	}
	if o := i.operands; len(o) == 2 && o[0].kind != immediate && movesAMD64.MatchString(i.name) {
		add(Exchanged, i.render(i.name, []string{o[1].text, o[0].text}))
	}
	if opposite := oppositesAMD64[i.name]; opposite != "" && (len(i.operands) != 1 || i.operands[0].kind != immediate) {
		add(Exchanged, i.render(opposite, i.texts()))
	}
	if m := conditionAMD64.FindStringSubmatch(i.name); m != nil {
		add(Condition, i.render(m[1]+next(m[2], "", "n")+m[3]+m[4], i.texts()))
	}
	return all
}

// narrowAMD64 is the instruction with half as many bits of its registers, or "".
func narrowAMD64(i instruction) string {
	name, narrower, changed := i.name, 1, i.name
	if m := suffixed.FindStringSubmatch(name); m != nil {
		changed = m[1] + map[string]string{"q": "l", "l": "w", "w": "b"}[m[2]]
		if m[1] == "push" || m[1] == "pop" {
			changed, narrower = m[1]+"w", 2
		}
	} else if name == "push" || name == "pop" {
		narrower = 2
	} else if name != "mov" {
		return ""
	}
	operands := i.texts()
	for n, o := range i.operands {
		if o.kind != register {
			continue
		}
		part := partAMD64(o.reg, narrower)
		if part == "" {
			return ""
		}
		operands[n] = o.make("", part)
	}
	if becomes := i.render(changed, operands); becomes != i.source {
		return becomes
	}
	return ""
}
