package sandbox

import (
	"debug/elf"
	"fmt"

	"fiberlab/labs/machine"
)

// executable is what is looked at of an ELF file.
type executable struct {
	arch        *machine.Arch
	interpreted bool // the kernel starts another program to load it
}

func readELF(path string) (executable, error) {
	f, err := elf.Open(path)
	if err != nil {
		return executable{}, err
	}
	defer f.Close()
	var e executable
	switch f.Machine {
	case elf.EM_X86_64:
		e.arch = machine.AMD64
	case elf.EM_AARCH64:
		e.arch = machine.ARM64
	default:
		return executable{}, fmt.Errorf("%s is for %v", path, f.Machine)
	}
	for _, p := range f.Progs {
		e.interpreted = e.interpreted || p.Type == elf.PT_INTERP
	}
	return e, nil
}
