package explore

import (
	"bufio"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// source is what the debug information of a program says: lines of code, and the names of variables.
type source struct {
	lines     []lineAt   // ordered by address
	variables []variable // ordered by address
	functions []variable // ordered by address
	files     map[string][]string
}

// lineAt is the line of the code from an address on, up to the next one.
type lineAt struct {
	address uint64
	place   Place
}

// Place is a line of the source. The zero value is none.
type Place struct {
	File string
	Line int
}

// String returns the file's name, without its folder, and the line.
func (p Place) String() string { return fmt.Sprintf("%s:%d", filepath.Base(p.File), p.Line) }

// variable is a global variable.
type variable struct {
	address uint64
	size    int64
	name    string
	kind    dwarf.Type // nil: the debug information has no type of it
}

// Load reads what Write needs of the program, so that the program may be closed before.
func (r *Result) Load() { r.program.read() }

// read reads the debug information of the program. What it lacks is missing in the source.
func (p *Program) read() *source {
	p.once.Do(func() {
		p.source = &source{files: map[string][]string{}}
		f, err := elf.Open(p.Path)
		if err != nil {
			return
		}
		defer f.Close()
		p.source.readSymbols(f)
		if d, err := f.DWARF(); err == nil {
			p.source.readDebug(d, f.ByteOrder)
		}
		s := p.source
		sort.SliceStable(s.lines, func(i, j int) bool { return s.lines[i].address < s.lines[j].address })
		sort.SliceStable(s.variables, func(i, j int) bool { return s.variables[i].address < s.variables[j].address })
		sort.SliceStable(s.functions, func(i, j int) bool { return s.functions[i].address < s.functions[j].address })
	})
	return p.source
}

// readSymbols reads the names of functions and variables, without types.
func (s *source) readSymbols(f *elf.File) {
	symbols, _ := f.Symbols()
	for _, y := range symbols {
		v := variable{address: y.Value, size: int64(y.Size), name: y.Name}
		switch {
		case y.Size == 0:
		case elf.ST_TYPE(y.Info) == elf.STT_OBJECT:
			s.variables = append(s.variables, v)
		case elf.ST_TYPE(y.Info) == elf.STT_FUNC:
			s.functions = append(s.functions, v)
		}
	}
}

// readDebug reads lines, and the types of variables. A part that cannot be read is left out.
func (s *source) readDebug(d *dwarf.Data, order binary.ByteOrder) {
	typed := map[uint64]variable{}
	r := d.Reader()
	for e, err := r.Next(); e != nil && err == nil; e, err = r.Next() {
		switch e.Tag {
		case dwarf.TagCompileUnit:
			if lines, err := d.LineReader(e); err == nil && lines != nil {
				s.readLines(lines)
			}
		case dwarf.TagVariable:
			if v, ok := variableOf(d, e, order); ok {
				typed[v.address] = v
			}
		}
	}
	for i, v := range s.variables {
		if t, ok := typed[v.address]; ok {
			s.variables[i].name, s.variables[i].kind = t.name, t.kind
		}
	}
}

// readLines reads the lines of a file that was compiled.
func (s *source) readLines(lines *dwarf.LineReader) {
	var e dwarf.LineEntry
	for lines.Next(&e) == nil {
		at := lineAt{address: e.Address}
		if !e.EndSequence && e.File != nil {
			at.place = Place{e.File.Name, e.Line}
		}
		s.lines = append(s.lines, at)
	}
}

// variableOf returns the variable that e describes, if it has a fixed address.
func variableOf(d *dwarf.Data, e *dwarf.Entry, order binary.ByteOrder) (variable, bool) {
	const address = 0x03 // DW_OP_addr
	where, _ := e.Val(dwarf.AttrLocation).([]byte)
	if len(where) != 9 || where[0] != address {
		return variable{}, false
	}
	v := variable{address: order.Uint64(where[1:])}
	for { // a definition may say only what it defines
		if name, ok := e.Val(dwarf.AttrName).(string); ok {
			v.name = name
		}
		if at, ok := e.Val(dwarf.AttrType).(dwarf.Offset); ok {
			v.kind, _ = d.Type(at)
		}
		declared, ok := e.Val(dwarf.AttrSpecification).(dwarf.Offset)
		if !ok {
			return v, v.name != ""
		}
		r := d.Reader()
		r.Seek(declared)
		var err error
		if e, err = r.Next(); err != nil || e == nil {
			return v, v.name != ""
		}
	}
}

// place returns the line of a call that returns to pc.
func (s *source) place(pc Address) Place {
	i := sort.Search(len(s.lines), func(i int) bool { return s.lines[i].address >= uint64(pc) })
	if i == 0 {
		return Place{}
	}
	return s.lines[i-1].place
}

// text returns the line at a place, without the blanks around it.
func (s *source) text(at Place) string {
	if at.File == "" {
		return ""
	}
	lines, known := s.files[at.File]
	if !known {
		lines, _ = linesOf(at.File)
		s.files[at.File] = lines
	}
	if at.Line < 1 || at.Line > len(lines) {
		return ""
	}
	return strings.TrimSpace(lines[at.Line-1])
}

// linesOf returns the lines of a file.
func linesOf(name string) ([]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var lines []string
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadString('\n')
		if line != "" {
			lines = append(lines, strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    "))
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return lines, err
		}
	}
}

// name returns how the source names the memory at an address, such as queue.slots[2]; empty: it has no name.
func (s *source) name(at Address, size int) string {
	i := sort.Search(len(s.variables), func(i int) bool { return s.variables[i].address > uint64(at) }) - 1
	if i < 0 {
		return ""
	}
	v := s.variables[i]
	offset := int64(uint64(at) - v.address)
	switch {
	case offset >= v.size:
		return ""
	case v.kind != nil:
		return v.name + part(v.kind, offset, int64(size))
	case offset > 0:
		return fmt.Sprintf("%s + %d", v.name, offset)
	}
	return v.name
}

// part returns which part of a variable lies at an offset, as .slots[2]; empty: the whole.
func part(t dwarf.Type, offset, size int64) string {
	switch t := t.(type) {
	case *dwarf.TypedefType:
		return part(t.Type, offset, size)
	case *dwarf.QualType:
		return part(t.Type, offset, size)
	case *dwarf.StructType:
		i := slices.IndexFunc(t.Field, func(f *dwarf.StructField) bool {
			return f.ByteOffset <= offset && offset < f.ByteOffset+f.Type.Size()
		})
		if i >= 0 && size > 0 && size < t.ByteSize {
			f := t.Field[i]
			inner := part(f.Type, offset-f.ByteOffset, size)
			if f.Name == "" {
				return inner
			}
			return "." + f.Name + inner
		}
	case *dwarf.ArrayType:
		if n := t.Type.Size(); n > 0 {
			return fmt.Sprintf("[%d]", offset/n) + part(t.Type, offset%n, size)
		}
	}
	if offset != 0 {
		return fmt.Sprintf(" + %d", offset)
	}
	return ""
}
