package sandbox

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Symbols looks at what the objects of a submission define and use. They must not define a name that the grader's own
// objects define, that these use except by calls, or with which a C program begins. Any other name they may define.
// Nothing of them may run before main: neither constructors, but for the one by which a C compiler calls __tsan_init,
// nor functions that are chosen when the program starts (ifunc). Of what they do not define themselves they may use
// may, and what compilers ask for unbidden; nil allows all. The error is a *BuildError that says which file does what,
// or says that a file cannot be read.
func Symbols(objects, own, calls, may []string) error {
	taken, needed := map[string]bool{}, map[string]bool{}
	for _, path := range own {
		err := symbolsOf(path, func(s elf.Symbol) error {
			taken[s.Name] = taken[s.Name] || isDefinition(s)
			needed[s.Name] = needed[s.Name] || s.Section == elf.SHN_UNDEF && !slices.Contains(calls, s.Name)
			return nil
		})
		if err != nil {
			return err
		}
	}
	defined, memory := map[string]bool{}, uint64(0)
	for _, path := range objects {
		constructors := uint64(0)
		source := strings.TrimSuffix(filepath.Base(path), ".o")
		refuse := func(format string, words ...any) error {
			return &BuildError{File: source, Text: fmt.Sprintf(format, words...)}
		}
		err := symbolsOf(path, func(s elf.Symbol) error {
			name, _, _ := strings.Cut(s.Name, "@") // the linker takes main@@V for main
			switch {
			case elf.ST_TYPE(s.Info) == elf.STT_GNU_IFUNC:
				return refuse("%s is chosen when the program starts (ifunc): not allowed here", s.Name)
			case isDefinition(s) && taken[name]:
				return refuse("defines %s, a name of the grader", s.Name)
			case isDefinition(s) && needed[name]:
				return refuse("defines %s, which the grader needs from the C library: not allowed here", s.Name)
			case isDefinition(s) && isStart(name):
				return refuse("defines %s, by which a C program begins: not allowed here", s.Name)
			case isDefinition(s):
				defined[s.Name] = true
			}
			if s.Section == elf.SHN_UNDEF && s.Name == "__tsan_init" && filepath.Ext(source) == ".c" {
				constructors = 1
			}
			if s.Section == elf.SHN_COMMON {
				memory = atMost(memory, s.Size)
			}
			return nil
		})
		if err == nil {
			err = sectionsOf(path, constructors, &memory, refuse)
		}
		if err == nil && memory > mostMemory {
			err = refuse(
				"needs more than %d MB of memory, with the files before it: a lab needs some KB", mostMemory>>20,
			)
		}
		if err != nil {
			return err
		}
	}
	if may == nil {
		return nil
	}
	for _, path := range objects {
		err := symbolsOf(path, func(s elf.Symbol) error {
			if name := plain(s.Name); s.Section == elf.SHN_UNDEF && s.Name != "" && !defined[s.Name] &&
				!slices.Contains(may, name) &&
				!isUnbidden(name) {
				return &BuildError{
					File: strings.TrimSuffix(filepath.Base(path), ".o"),
					Text: fmt.Sprintf("uses %s: not allowed in this lab", s.Name),
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Take adds to Objects each given object that defines what Objects or calls need, as a linker takes objects from a
// library. It removes the other ones.
func (b *Built) Take(calls []string) error {
	defined, used := map[string]bool{}, map[string]bool{}
	for _, name := range calls {
		used[name] = true
	}
	note := func(path string) error {
		return symbolsOf(path, func(s elf.Symbol) error {
			defined[s.Name] = defined[s.Name] || isDefinition(s)
			used[s.Name] = used[s.Name] || s.Section == elf.SHN_UNDEF
			return nil
		})
	}
	for _, path := range b.Objects {
		if err := note(path); err != nil {
			return err
		}
	}
	for again := true; again; {
		again = false
		for i, path := range b.given {
			needed := false
			err := symbolsOf(path, func(s elf.Symbol) error {
				needed = needed || isDefinition(s) && used[s.Name] && !defined[s.Name]
				return nil
			})
			if err == nil && needed {
				b.Objects, b.given, again = append(b.Objects, path), slices.Delete(b.given, i, i+1), true
				err = note(path)
			}
			if err != nil {
				return err
			}
			if again {
				break
			}
		}
	}
	for _, path := range b.given {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	b.given = nil
	return nil
}

const addressSize = 8 // bytes of an entry in .init_array

// mostMemory is far more than the code and the data of a submission need, in bytes. The harness has places of its own,
// some 16 MB above where the program begins on arm64.
const mostMemory = 14 << 20

// atMost adds sizes, up to a sum that is too much.
func atMost(sum, size uint64) uint64 { return min(sum, mostMemory+1) + min(size, mostMemory+1) }

// mostSymbols is far more than an object of a lab has.
const mostSymbols = 10_000

func symbolsOf(path string, look func(elf.Symbol) error) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if table := f.SectionByType(elf.SHT_SYMTAB); table != nil && table.Size/max(table.Entsize, 1) > mostSymbols {
		return &BuildError{
			File: strings.TrimSuffix(filepath.Base(path), ".o"),
			Text: fmt.Sprintf("has more than %d symbols", mostSymbols),
		}
	}
	symbols, err := f.Symbols()
	if err != nil && err != elf.ErrNoSymbols {
		return err
	}
	for _, s := range symbols {
		if err := look(s); err != nil {
			return err
		}
	}
	return nil
}

func isDefinition(s elf.Symbol) bool {
	return s.Section != elf.SHN_UNDEF && elf.ST_BIND(s.Info) != elf.STB_LOCAL
}

// isStart is whether a name belongs to the start of a C program, before main.
func isStart(name string) bool {
	return name == "main" || name == "_start" || name == "_init" || name == "_fini" || name == "__tsan_init" ||
		strings.HasPrefix(name, "__libc_") ||
		strings.HasPrefix(name, "_dl_")
}

// plain is the name of a function whose checked or versioned form the C library's headers choose:
// printf for __printf_chk.
func plain(name string) string {
	for _, prefix := range []string{"__isoc99_", "__isoc23_"} {
		name = strings.TrimPrefix(name, prefix)
	}
	if checked, ok := strings.CutSuffix(name, "_chk"); ok {
		name = strings.TrimPrefix(checked, "__")
	}
	return name
}

// unbidden are the names that compilers use for what a source does not say:
// copies, the offset table, the guard of a frame.
var unbidden = []string{
	"memcpy", "memmove", "memset", "memcmp", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail", "__stack_chk_guard",
}

func isUnbidden(name string) bool {
	return slices.Contains(unbidden, name) || strings.HasPrefix(name, "__aarch64_") // atomic operations
}

// sectionsOf refuses sections by which a program would run before main, be loaded by another program, or change its own
// code, and adds to memory what the others take. constructors is how many entries of .init_array are allowed.
func sectionsOf(
	path string, constructors uint64, memory *uint64, refuse func(format string, words ...any) error,
) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, s := range f.Sections {
		switch base := firstWords(s.Name); {
		case base == ".init_array" && s.Size <= constructors*addressSize:
			constructors -= s.Size / addressSize
		case slices.Contains([]string{".init_array", ".preinit_array", ".ctors", ".init"}, base):
			return refuse("has a constructor (section %s): nothing may run before main", s.Name)
		case slices.Contains([]string{".fini_array", ".dtors", ".fini"}, base):
			return refuse("has a destructor (section %s): not allowed here", s.Name)
		case base == ".interp" || base == ".dynamic" || strings.HasPrefix(s.Name, ".gnu.lto_"):
			return refuse("has a section %s: not allowed here", s.Name)
		case s.Type == elf.SHT_NOTE && s.Flags&elf.SHF_ALLOC != 0 && s.Name != ".note.gnu.property":
			return refuse("has a note (section %s): not allowed here", s.Name)
		case s.Flags&(elf.SHF_WRITE|elf.SHF_EXECINSTR) == elf.SHF_WRITE|elf.SHF_EXECINSTR:
			return refuse("has code that can be written to (section %s): not allowed here", s.Name)
		case s.Flags&elf.SHF_ALLOC != 0:
			*memory = atMost(atMost(*memory, s.Size), s.Addralign)
		}
	}
	return nil
}

// firstWords is the name of a section without what orders it: .init_array for .init_array.00100.
func firstWords(name string) string {
	rest := strings.TrimPrefix(name, ".")
	first, _, _ := strings.Cut(rest, ".")
	return "." + first
}
