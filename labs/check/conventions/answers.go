package conventions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// registerWord is a word of struct lab_registers.
type registerWord struct {
	register string // as machine.Arch has it
	high     bool   // whether it is the high half of the vector register of which register is the low half
}

func (w registerWord) name() string {
	switch {
	case w.high:
		return "the high half of v" + w.register[1:] + ", above " + w.register
	case w.register[0] == 'd':
		return w.register + ", the low half of v" + w.register[1:]
	}
	return w.register
}

// registerWords returns the words of struct lab_registers, as convention.h has them.
func registerWords(a *machine.Arch) []registerWord {
	var all []registerWord
	if a == machine.AMD64 {
		for _, name := range strings.Fields("rax rbx rcx rdx rsi rdi rbp r8 r9 r10 r11 r12 r13 r14 r15") {
			all = append(all, registerWord{register: name})
		}
		return all
	}
	for i := range 30 {
		all = append(all, registerWord{register: fmt.Sprintf("x%d", i)})
	}
	for i := 8; i < 16; i++ {
		all = append(all, registerWord{register: fmt.Sprintf("d%d", i)}, registerWord{fmt.Sprintf("d%d", i), true})
	}
	return all
}

// table has the right answers, in the order of the tables that are handed out.
var table = map[string][]answer{
	"amd64": {
		{"rax", false}, {"rbx", true}, {"rcx", false}, {"rdx", false},
		{"rsi", false}, {"rdi", false}, {"rbp", true}, {"rsp", true},
		{"r8", false}, {"r9", false}, {"r10", false}, {"r11", false},
		{"r12", true}, {"r13", true}, {"r14", true}, {"r15", true},
		{"xmm0-xmm15", false},
	},
	"arm64": {
		{"x0-x7", false}, {"x8", false}, {"x9-x15", false}, {"x16-x17", false},
		{"x19-x28", true}, {"x29", true}, {"x30", false}, {"sp", true},
		{"v0-v7", false}, {"d8-d15", true}, {"v8-v15-high", false}, {"v16-v31", false},
	},
}

// answer says whether a register, or each of several, survives a call.
type answer struct {
	registers string
	kept      bool
}

// answers examines the table.
func answers(_ context.Context, b *grade.Bench) ([]grade.Fault, error) {
	name := "answers_" + b.Program.Arch.Name + ".txt"
	text, err := os.ReadFile(filepath.Join(b.Dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return []grade.Fault{{Text: "there is no " + name}}, nil
	}
	if err != nil {
		return nil, err
	}
	return compare(name, string(text), table[b.Program.Arch.Name]), nil
}

// compare returns which lines of a table are wrong.
func compare(name, text string, wanted []answer) []grade.Fault {
	given, lines := map[string]string{}, map[string]int{}
	n := 0
	var faults []grade.Fault
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) { // some editors write this mark at the start
		n++
		line, _, _ = strings.Cut(line, "#")
		switch fields := strings.Fields(line); {
		case len(fields) == 0:
		case !slices.ContainsFunc(wanted, func(a answer) bool { return a.registers == fields[0] }):
			faults = append(faults, grade.Fault{
				Text:  fmt.Sprintf("%s:%d: %q is none of the registers in the table", name, n, fields[0]),
				Place: machine.Place{File: name, Line: n},
			})
		case len(fields) != 2 || fields[1] != "kept" && fields[1] != "lost" && fields[1] != "?":
			faults = append(faults, grade.Fault{
				Text:  fmt.Sprintf("%s:%d: write kept or lost after %s", name, n, fields[0]),
				Place: machine.Place{File: name, Line: n},
			})
		default:
			given[fields[0]], lines[fields[0]] = fields[1], n
		}
	}
	var open, wrong []string
	var place machine.Place
	for _, a := range wanted {
		switch word := given[a.registers]; {
		case word == "" || word == "?":
			open = append(open, a.registers)
		case (word == "kept") != a.kept:
			wrong = append(wrong, a.registers)
			if place.File == "" {
				place = machine.Place{File: name, Line: lines[a.registers]}
			}
		}
	}
	if len(wrong) > 0 {
		faults = append(faults, grade.Fault{
			Text: "the wrong answer is given for " + strings.Join(
				wrong, ", ",
			) + ": compare what your lab_observe shows of the stranger that is called greedy",
			Place: place,
		})
	}
	if len(open) > 0 && len(faults) == 0 {
		faults = append(faults, grade.Fault{Text: "no answer is given yet for " + strings.Join(open, ", ")})
	}
	return faults
}
