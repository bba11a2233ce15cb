package machine

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Mapping is a range of a program's memory whose pages have the same permissions.
type Mapping struct {
	Start, End           uint64 // End is the first address behind it
	Read, Write, Execute bool
	Name                 string // of the file, or as the kernel names it: [stack]; empty for other anonymous memory
}

// Mappings returns the memory of a program that stands still, by address. Natively it is what the kernel tells. For a
// program in qemu it is known as far as qemu's own memory shows it. Execute is always false. A page of code that may be
// written shows Write only until it has been executed. Memory without any permission shows only beside memory that has
// some. The stack has no name.
func Mappings(m Machine) ([]Mapping, error) {
	switch m := m.(type) {
	case *traced:
		if m.ended {
			return nil, ErrEnded
		}
		return processMappings(m.pid)
	case *emulated:
		if m.ended {
			return nil, ErrEnded
		}
		return m.mappings()
	}
	return nil, fmt.Errorf("the mappings of %T are not known", m)
}

// MappingAt returns the mapping that holds address.
func MappingAt(all []Mapping, address uint64) (Mapping, bool) {
	for _, mapping := range all {
		if mapping.Start <= address && address < mapping.End {
			return mapping, true
		}
	}
	return Mapping{}, false
}

// processMappings reads /proc/PID/maps.
func processMappings(pid int) ([]Mapping, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, fmt.Errorf("read the program's mappings: %w", err)
	}
	var all []Mapping
	for line := range strings.Lines(string(text)) {
		mapping, err := parseMapping(line)
		if err != nil {
			return nil, err
		}
		all = append(all, mapping)
	}
	return all, nil
}

// parseMapping parses a line as in "00400000-00401000 r--p 00000000 fe:00 12345    /path".
func parseMapping(line string) (Mapping, error) {
	fields := strings.Fields(line)
	if len(fields) >= 5 && len(fields[1]) == 4 {
		from, to, _ := strings.Cut(fields[0], "-")
		start, startErr := strconv.ParseUint(from, 16, 64)
		end, endErr := strconv.ParseUint(to, 16, 64)
		if startErr == nil && endErr == nil {
			permissions := fields[1]
			return Mapping{
				start, end, permissions[0] == 'r', permissions[1] == 'w', permissions[2] == 'x',
				strings.Join(fields[5:], " "),
			}, nil
		}
	}
	return Mapping{}, fmt.Errorf("a mapping that cannot be read: %q", line)
}

// mappings picks the program's memory out of qemu's. The stub reads only the program's.
func (m *emulated) mappings() ([]Mapping, error) {
	all, err := processMappings(m.process.Pid)
	if err != nil {
		return nil, err
	}
	base, err := m.base(all)
	if err != nil {
		return nil, err
	}
	var own []Mapping
	taken := make([]bool, len(all))
	for i, mapping := range all {
		if mapping.Start < base || mapping.Start-base >= 1<<63 {
			continue
		}
		var first [1]byte
		if err := m.Read(mapping.Start-base, first[:]); err == nil {
			taken[i] = true
		} else if m.ended {
			return nil, err
		}
	}
	closed := func(i int) bool { return !all[i].Read && !all[i].Write && !all[i].Execute }
	for i := 1; i < len(all); i++ {
		taken[i] = taken[i] || closed(i) && taken[i-1] && all[i-1].End == all[i].Start
	}
	for i := len(all) - 2; i >= 0; i-- {
		taken[i] = taken[i] || closed(i) && taken[i+1] && all[i].End == all[i+1].Start
	}
	for i, mapping := range all {
		if taken[i] {
			mapping.Start, mapping.End, mapping.Execute = mapping.Start-base, mapping.End-base, false
			own = append(own, mapping)
		}
	}
	slices.SortFunc(own, func(a, b Mapping) int { return cmp.Compare(a.Start, b.Start) })
	return own, nil
}

// base returns how far above the program's addresses qemu has put them: it shows where the program's file is mapped.
func (m *emulated) base(all []Mapping) (uint64, error) {
	var program, mapped unix.Stat_t
	if err := unix.Stat(m.program.Path, &program); err != nil {
		return 0, fmt.Errorf("%s: %w", m.program.Path, err)
	}
	for _, mapping := range all {
		if strings.HasPrefix(mapping.Name, "/") && unix.Stat(mapping.Name, &mapped) == nil &&
			mapped.Ino == program.Ino &&
			mapped.Dev == program.Dev {
			return mapping.Start - m.program.lowest, nil
		}
	}
	return 0, fmt.Errorf("%s shows no mapping of %s", m.name, m.program.Path)
}
