package verify

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"fiberlab/labs/machine"
)

// target is what is known of the program before it runs. The runtime was compiled in one folder, which is found by the
// source file that defines main. The submission was compiled elsewhere.
type target struct {
	program   *machine.Program
	test      uint64            // explore_test
	code      []region          // of the source file that defines it
	ofTest    []named           // variables of that file
	entries   []uint64          // of the runtime's functions
	names     map[uint64]string // their names
	globals   []region          // what each schedule finds with its first values
	variables []variable        // of the runtime
	engineAt  uint64            // of these, the one that points to its state
	stacksAt  uint64            // where in that state the address of the stacks is
	heapAt    uint64            // and that of the region of malloc
	silentAt  uint64            // and the number of branches since the last visible step
	returned  uint64            // where the body of a thread returns to
}

type region struct{ address, size uint64 }

func (r region) has(address uint64) bool { return address-r.address < r.size }

func (r region) overlaps(address, size uint64) bool {
	return r.address < address+size && address < r.address+r.size
}

type named struct {
	region
	name string
}

// variable is one of the runtime's; pointee is the size of what it points to, if it is a pointer.
type variable struct {
	region
	pointee uint64
}

func open(path string) (*target, error) {
	p, err := machine.Open(path)
	if err != nil {
		return nil, err
	}
	t := &target{program: p, names: map[uint64]string{}}
	at := map[string]uint64{}
	for _, name := range []string{
		"main", "explore_test", "explore_engine", "explore_fiber_returned", "__data_start", "_edata", "__bss_start", "_end",
	} {
		s, err := p.Symbol(name)
		if err != nil {
			return nil, fmt.Errorf("%w: build it with package explore", err)
		}
		at[name] = s.Address
	}
	t.test, t.engineAt, t.returned = at["explore_test"], at["explore_engine"], at["explore_fiber_returned"]
	t.globals = []region{
		{at["__data_start"], at["_edata"] - at["__data_start"]}, {at["__bss_start"], at["_end"] - at["__bss_start"]},
	}
	if err := t.readRuntime(path, at["main"]); err != nil {
		return nil, fmt.Errorf("the runtime in %s: %w", path, err)
	}
	return t, nil
}

// readRuntime reads, from the notes for debuggers, which functions and variables the runtime has.
func (t *target) readRuntime(path string, main uint64) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.DWARF()
	if err != nil {
		return err
	}
	folder, err := folderOf(info, main)
	if err != nil {
		return err
	}
	entries := info.Reader()
	for {
		unit, err := entries.Next()
		if err != nil {
			return err
		}
		if unit == nil {
			break
		}
		name, _ := unit.Val(dwarf.AttrName).(string)
		define := t.define
		switch code, err := codeOf(info, unit); {
		case err != nil:
			return err
		case within(code, t.test):
			t.code, define = code, t.defineTest
		case !strings.HasPrefix(name, folder+"/") || !unit.Children:
			entries.SkipChildren()
			continue
		}
		for {
			e, err := entries.Next()
			if err != nil {
				return err
			}
			if e == nil || e.Tag == 0 {
				break
			}
			if err := define(info, e); err != nil {
				return err
			}
			entries.SkipChildren()
		}
	}
	if t.stacksAt == 0 || t.heapAt == 0 || t.silentAt == 0 || len(t.entries) == 0 {
		return fmt.Errorf("its debug information is missing: build it with package explore")
	}
	return nil
}

// folderOf returns the folder of the folder in which the source is whose code has that address.
func folderOf(info *dwarf.Data, address uint64) (string, error) {
	for units := info.Reader(); ; units.SkipChildren() {
		unit, err := units.Next()
		if err != nil {
			return "", err
		}
		if unit == nil {
			return "", fmt.Errorf("nothing says which source defines main")
		}
		code, err := codeOf(info, unit)
		if err != nil {
			return "", err
		}
		if name, _ := unit.Val(dwarf.AttrName).(string); within(code, address) {
			return filepath.Dir(filepath.Dir(name)), nil
		}
	}
}

// codeOf returns where the code of a source file lies.
func codeOf(info *dwarf.Data, unit *dwarf.Entry) (code []region, err error) {
	ranges, err := info.Ranges(unit)
	for _, r := range ranges {
		code = append(code, region{r[0], r[1] - r[0]})
	}
	return code, err
}

func within(regions []region, address uint64) bool {
	return slices.ContainsFunc(regions, func(r region) bool { return r.has(address) })
}

// inTest reports whether a call that returns to that address stands in the test.
func (t *target) inTest(back uint64) bool { return within(t.code, back-1) }

// defineTest notes a variable of the test.
func (t *target) defineTest(info *dwarf.Data, e *dwarf.Entry) error {
	if e.Tag != dwarf.TagVariable {
		return nil
	}
	name, _ := e.Val(dwarf.AttrName).(string)
	v, _, err := variableOf(info, e)
	if v.size > 0 {
		t.ofTest = append(t.ofTest, named{v, name})
	}
	return err
}

// variableOf returns where a variable lies, and its type; nil: nowhere.
func variableOf(info *dwarf.Data, e *dwarf.Entry) (region, dwarf.Type, error) {
	location, _ := e.Val(dwarf.AttrLocation).([]byte)
	const constant = 0x03 // DW_OP_addr
	typeAt, typed := e.Val(dwarf.AttrType).(dwarf.Offset)
	if declared, apart := e.Val(dwarf.AttrSpecification).(dwarf.Offset); apart {
		at := info.Reader()
		at.Seek(declared)
		declaration, err := at.Next()
		if err != nil {
			return region{}, nil, err
		}
		typeAt, typed = declaration.Val(dwarf.AttrType).(dwarf.Offset)
	}
	if len(location) != 9 || location[0] != constant || !typed {
		return region{}, nil, nil
	}
	kind, err := info.Type(typeAt)
	if err != nil {
		return region{}, nil, err
	}
	return region{binary.LittleEndian.Uint64(location[1:]), uint64(max(kind.Size(), 0))}, kind, nil
}

// runThrough are the runtime's functions that change nothing while the program is watched, or only count.
var runThrough = map[string]bool{
	"__tsan_init": true, "__tsan_func_entry": true, "__tsan_func_exit": true, "__sanitizer_cov_trace_pc": true,
}

// define notes a function or a variable of the runtime.
func (t *target) define(info *dwarf.Data, e *dwarf.Entry) error {
	name, _ := e.Val(dwarf.AttrName).(string)
	switch e.Tag {
	case dwarf.TagSubprogram:
		address, known := e.Val(dwarf.AttrLowpc).(uint64)
		if s, ok := t.program.At(address); name == "" && ok { // the note is about a form of the function
			name = s.Name
		}
		if known && !runThrough[name] {
			t.entries = append(t.entries, address)
			t.names[address] = name
		}
	case dwarf.TagVariable:
		at, kind, err := variableOf(info, e)
		if err != nil || kind == nil {
			return err
		}
		v := variable{region: at}
		if to, points := kind.(*dwarf.PtrType); points {
			v.pointee = uint64(max(to.Type.Size(), 0))
			if state, is := to.Type.(*dwarf.StructType); is && v.address == t.engineAt {
				for _, field := range state.Field {
					switch field.Name {
					case "stacks":
						t.stacksAt = uint64(field.ByteOffset)
					case "heap":
						t.heapAt = uint64(field.ByteOffset)
					case "silent":
						t.silentAt = uint64(field.ByteOffset)
					}
				}
			}
		}
		t.variables = append(t.variables, v)
	}
	return nil
}
