package mutate

import (
	"regexp"
	"strconv"
	"strings"
)

var number = regexp.MustCompile(`^(~?|-?)(0[xX][0-9a-fA-F]+|\d+)$`)

// constants are the faults in operand n of an instruction, an immediate number. slot is the size of a slot of the stack
// in bytes.
func constants(i instruction, n int, o operand, slot int) []fault {
	masks := strings.HasPrefix(i.means, "and") || strings.HasPrefix(i.means, "bic")
	m := number.FindStringSubmatch(o.off)
	if m == nil {
		return []fault{{Constant, i.with(n, o.make(o.off+"+1", "")), nil}}
	}
	value, err := strconv.ParseUint(m[2], 0, 64)
	if err != nil {
		return nil
	}
	switch {
	case masks && m[1] == "-" && value > 1:
		return []fault{{Alignment, i.with(n, o.make("-"+strconv.FormatUint(value/2, 10), "")), []string{Aligned}}}
	case masks && value > 1 && value&(value+1) == 0: // ~15, or bic #15
		return []fault{{Alignment, i.with(n, o.make(m[1]+strconv.FormatUint(value/2, 10), "")), []string{Aligned}}}
	case (strings.HasPrefix(i.means, "add") || strings.HasPrefix(i.means, "sub")) &&
		value >= uint64(slot) && value%uint64(slot) == 0:
		return []fault{
			{Constant, i.with(n, o.make(m[1]+strconv.FormatUint(value+uint64(slot), 10), "")), nil},
			{Constant, i.with(n, o.make(m[1]+strconv.FormatUint(value-uint64(slot), 10), "")), nil},
		}
	}
	if m[1] == "" {
		return []fault{{Constant, i.with(n, o.make(strconv.FormatUint(value+1, 10), "")), nil}}
	}
	return []fault{{Constant, i.with(n, o.make(o.off+"+1", "")), nil}}
}
