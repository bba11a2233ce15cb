package mutate

import (
	"slices"
	"strings"

	"fiberlab/labs/machine"
)

// effects are what an instruction reads and writes: registers by their canonical names, and memory.
type effects struct {
	reads, writes []string
	loads, stores *operand
}

// effectsOf returns the effects of a plain load, store or move. Of other instructions it knows nothing.
func effectsOf(a *machine.Arch, i instruction) (e effects, known bool) {
	var sources, targets []operand
	o := i.operands
	switch i.means {
	case "movq", "movl", "mov":
		if len(o) != 2 {
			return e, false
		}
		if sources, targets = o[:1], o[1:]; a == machine.ARM64 {
			sources, targets = o[1:], o[:1]
		}
	case "stmxcsr", "fnstcw":
		targets = o
	case "ldmxcsr", "fldcw":
		sources = o
	case "str", "stp":
		sources, targets = o[:len(o)-1], o[len(o)-1:]
	case "ldr", "ldp":
		sources, targets = o[len(o)-1:], o[:len(o)-1]
	case "mrs":
		targets = o[:1]
		e.reads = append(e.reads, o[1].text)
	case "msr":
		sources = o[1:]
		e.writes = append(e.writes, o[0].text)
	default:
		return e, false
	}
	switch i.means {
	case "stmxcsr":
		e.reads = append(e.reads, "mxcsr")
	case "fnstcw":
		e.reads = append(e.reads, "x87cw")
	case "ldmxcsr":
		e.writes = append(e.writes, "mxcsr")
	case "fldcw":
		e.writes = append(e.writes, "x87cw")
	}
	for _, list := range []struct {
		operands []operand
		touched  *[]string
		place    **operand
	}{{sources, &e.reads, &e.loads}, {targets, &e.writes, &e.stores}} {
		for _, o := range list.operands {
			switch o.kind {
			case register:
				*list.touched = append(*list.touched, named(a, o.reg))
			case memory:
				indexed := strings.Contains(o.text, ",") && a == machine.AMD64 || a.Canonical(o.off) != ""
				if indexed || strings.HasSuffix(o.text, "!") {
					return e, false
				}
				e.reads = append(e.reads, named(a, o.reg))
				*list.place = &o
			case immediate:
				if e.loads != nil || e.stores != nil || i.name[0] == 's' || i.name[0] == 'l' {
					return e, false // the address register moves
				}
			default:
				if i.means != "mrs" && i.means != "msr" {
					return e, false
				}
			}
		}
	}
	return e, true
}

// named is the canonical name of a register, or what is written if it has none.
func named(a *machine.Arch, reg string) string {
	if canonical := a.Canonical(reg); canonical != "" {
		return canonical
	}
	return reg
}

// commute reports whether two neighbours may change places. Offsets that are written differently are taken to be of
// slots that do not overlap. If in doubt, it says no.
func commute(a *machine.Arch, first, second instruction) bool {
	x, known := effectsOf(a, first)
	y, alsoKnown := effectsOf(a, second)
	if !known || !alsoKnown {
		return false
	}
	overlap := func(a, b []string) bool {
		return slices.ContainsFunc(a, func(name string) bool { return slices.Contains(b, name) })
	}
	if overlap(x.writes, y.writes) || overlap(x.writes, y.reads) || overlap(x.reads, y.writes) {
		return false
	}
	apart := func(p, q *operand) bool { return p == nil || q == nil || p.reg == q.reg && p.off != q.off }
	return apart(x.stores, y.stores) && apart(x.stores, y.loads) && apart(x.loads, y.stores)
}
