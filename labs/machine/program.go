package machine

import (
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// Program is an executable on disk. It is linked at fixed addresses (-no-pie).
type Program struct {
	Path string
	Arch *Arch

	symbols []Symbol          // by address; of several at one address the one to show stands last
	names   map[string]Symbol // by name, global symbols before local ones
	lines   []line            // by address
}

// Symbol is a name in a program.
type Symbol struct {
	Name    string
	Address uint64
	Size    uint64 // bytes; 0 if the source does not say
}

// Place is a place in a source.
type Place struct {
	File     string `json:"file"` // as the compiler was told it
	Line     int    `json:"line"`
	Function string `json:"function"`
}

// line says that the instructions from address on come from a line, up to the next one. Its place is zero after the end
// of a sequence of instructions.
type line struct {
	address uint64
	place   Place
}

// Open reads the symbols and the source lines of the executable at path. Without line information no place is known;
// without symbols there is an error.
func Open(path string) (*Program, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s is no executable: %w", path, err)
	}
	defer f.Close()
	p := &Program{Path: path, names: map[string]Symbol{}}
	switch f.Machine {
	case elf.EM_X86_64:
		p.Arch = AMD64
	case elf.EM_AARCH64:
		p.Arch = ARM64
	default:
		return nil, fmt.Errorf("%s is for %v: it must be for %s or %s", path, f.Machine, AMD64.Name, ARM64.Name)
	}
	if f.Type != elf.ET_EXEC {
		return nil, fmt.Errorf("%s is %v: link it with -static -no-pie", path, f.Type)
	}
	if err := p.readSymbols(f); err != nil {
		return nil, fmt.Errorf("symbols of %s: %w", path, err)
	}
	if err := p.readLines(f); err != nil {
		return nil, fmt.Errorf("source lines of %s: %w", path, err)
	}
	return p, nil
}

// Symbol returns what is called name. The error says that it is missing.
func (p *Program) Symbol(name string) (Symbol, error) {
	s, ok := p.names[name]
	if !ok {
		return Symbol{}, fmt.Errorf("%s defines no symbol %s", filepath.Base(p.Path), name)
	}
	return s, nil
}

// At returns the symbol whose range holds that address. A symbol without a size, as assembly often defines them,
// reaches to the next one.
func (p *Program) At(address uint64) (Symbol, bool) {
	after, _ := slices.BinarySearchFunc(p.symbols, address, func(s Symbol, a uint64) int {
		if s.Address <= a {
			return -1
		}
		return 1
	})
	if after == 0 {
		return Symbol{}, false
	}
	s := p.symbols[after-1]
	return s, s.Size == 0 || address < s.Address+s.Size
}

// Place returns where in the sources the instruction at pc comes from. Known is false without line information.
func (p *Program) Place(pc uint64) (place Place, known bool) {
	after, _ := slices.BinarySearchFunc(p.lines, pc, func(l line, a uint64) int {
		if l.address <= a {
			return -1
		}
		return 1
	})
	if after == 0 {
		return Place{}, false
	}
	place = p.lines[after-1].place
	if place.Line == 0 {
		return Place{}, false
	}
	if s, ok := p.At(pc); ok {
		place.Function = clipName(s.Name)
	}
	return place, true
}

func (p *Program) readSymbols(f *elf.File) error {
	all, err := f.Symbols()
	if errors.Is(err, elf.ErrNoSymbols) {
		return errors.New("there are none: link it without -s")
	}
	if err != nil {
		return err
	}
	global := map[string]bool{}
	rank := map[string]int{} // of the names that p.symbols holds at an address: the last is shown
	for _, s := range all {
		kind, bound := elf.ST_TYPE(s.Info), elf.ST_BIND(s.Info)
		if s.Section == elf.SHN_UNDEF || s.Name == "" || kind == elf.STT_SECTION || kind == elf.STT_FILE ||
			kind == elf.STT_TLS {
			continue
		}
		if kind == elf.STT_NOTYPE && strings.HasPrefix(s.Name, "$") { // marks code and data for Arm's tools
			continue
		}
		symbol := Symbol{s.Name, s.Value, s.Size}
		if _, taken := p.names[s.Name]; !taken || bound != elf.STB_LOCAL && !global[s.Name] {
			p.names[s.Name], global[s.Name] = symbol, bound != elf.STB_LOCAL
		}
		if s.Section >= elf.SHN_LORESERVE || int(s.Section) >= len(f.Sections) ||
			f.Sections[s.Section].Flags&elf.SHF_ALLOC == 0 {
			continue // a number, no place in memory
		}
		if symbol.Size == 0 && bound == elf.STB_LOCAL && kind == elf.STT_NOTYPE && strings.HasPrefix(s.Name, ".L") {
			continue
		}
		p.symbols = append(p.symbols, symbol)
		switch {
		case bound == elf.STB_GLOBAL:
			rank[s.Name] = 2
		case bound == elf.STB_WEAK:
			rank[s.Name] = 1
		}
	}
	slices.SortStableFunc(p.symbols, func(a, b Symbol) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(min(a.Size, 1), min(b.Size, 1)),
			cmp.Compare(rank[a.Name], rank[b.Name]), cmp.Compare(b.Name, a.Name))
	})
	return nil
}

// mostLines is far more than a program has rows of line information.
// Each may be a byte there, and takes a hundred here.
const mostLines = 1 << 19

func (p *Program) readLines(f *elf.File) error {
	if f.Section(".debug_line") == nil && f.Section(".zdebug_line") == nil {
		return nil
	}
	info, err := f.DWARF()
	if err != nil {
		return err
	}
	files := 0
	for units := info.Reader(); ; units.SkipChildren() {
		unit, err := units.Next()
		if err != nil {
			return err
		}
		if unit == nil {
			break
		}
		if unit.Tag != dwarf.TagCompileUnit {
			continue
		}
		rows, err := info.LineReader(unit)
		if err != nil {
			return err
		}
		if rows == nil {
			continue
		}
		name, _ := unit.Val(dwarf.AttrName).(string)
		dir, _ := unit.Val(dwarf.AttrCompDir).(string)
		var row dwarf.LineEntry
		files += len(rows.Files())
		for {
			if len(p.lines) > mostLines || files > mostLines {
				return fmt.Errorf("there are more than %d", mostLines)
			}
			if err := rows.Next(&row); err == io.EOF {
				break
			} else if err != nil {
				return err
			}
			at := line{address: row.Address}
			if row.EndSequence {
				// of a last line without instructions
				for len(p.lines) > 0 && p.lines[len(p.lines)-1].address == at.address {
					p.lines = p.lines[:len(p.lines)-1]
				}
			} else if row.Line == 0 {
				continue // the compiler knows no line of its own for these instructions: they count to the line before
			} else if row.File != nil {
				at.place = Place{File: clipName(toldName(row.File.Name, name, dir)), Line: row.Line}
			}
			p.lines = append(p.lines, at)
		}
	}
	// Where one sequence ends and the next begins, the beginning counts; of several rows for one address, the last.
	slices.SortStableFunc(p.lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.address, b.address), cmp.Compare(min(a.place.Line, 1), min(b.place.Line, 1)))
	})
	return nil
}

// toldName returns a source's name as the compiler was told it, from the full one, the unit's own and the folder in
// which the compiler ran.
func toldName(full, unit, dir string) string {
	if full == unit || full == filepath.Join(dir, unit) {
		return unit
	}
	if inside, ok := strings.CutPrefix(full, dir+"/"); ok {
		return inside
	}
	return full
}

// clipName cuts a name after 255 bytes, the longest name of a file: a report and a recording repeat it.
func clipName(name string) string { return Clip(name, 255, "...") }

// Clip returns a text, or, of one with more than most bytes, its beginning and mark. What a submission says, or is
// called, may be very long.
func Clip(text string, most int, mark string) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + mark
}
