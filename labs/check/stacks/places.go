package stacks

import (
	"context"
	"debug/elf"
	"encoding/binary"
	"strings"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// wrappers are the functions of the C library in which the system calls of this lab are made.
var wrappers = []string{
	"mmap", "mmap64", "munmap", "mprotect", "mremap", "madvise", "sigaltstack", "sigaction", "__libc_sigaction",
}

// systemCalls returns the addresses of the instructions that make system calls: in the submission, and in the wrappers.
func systemCalls(ctx context.Context, b *grade.Bench) ([]uint64, error) {
	return grade.Shared(ctx, b, "system calls", func(context.Context) ([]uint64, error) {
		f, err := elf.Open(b.Program.Path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		text := f.Section(".text")
		code, err := text.Data()
		if err != nil {
			return nil, err
		}
		symbols, err := f.Symbols()
		if err != nil {
			return nil, err
		}
		var found []uint64
		seen := map[uint64]bool{}
		for _, s := range symbols {
			wanted := isSubmitted(b.Program, s.Value)
			for _, name := range wrappers {
				wanted = wanted || s.Name == name
			}
			first, last := s.Value-text.Addr, s.Value-text.Addr+s.Size
			if elf.ST_TYPE(s.Info) != elf.STT_FUNC || !wanted || seen[s.Value] || s.Value < text.Addr ||
				last > uint64(len(code)) {
				continue
			}
			seen[s.Value] = true
			for at := first; at < last; {
				if machine.IsSystemCall(b.Program.Arch, code[at:last]) {
					found = append(found, text.Addr+at)
				}
				_, length := machine.Disassemble(b.Program.Arch, code[at:last], text.Addr+at)
				at += uint64(max(length, 1))
			}
		}
		return found, nil
	})
}

// isSubmitted reports whether the instruction at pc comes from a file of the submission. Those were compiled in their
// own folder, so that their names are plain.
func isSubmitted(p *machine.Program, pc uint64) bool {
	place, known := p.Place(pc)
	return known && !strings.Contains(place.File, "/")
}

// caller returns the line of the submission that has led to where the program stands: there, or where the innermost
// call returns to.
func (w *world) caller(regs machine.Registers) machine.Place {
	if isSubmitted(w.Program, regs.PC()) {
		return w.place(regs.PC())
	}
	const words = 128
	stack := make([]byte, words*8)
	_ = w.Read(regs.SP(), stack)
	backs := []uint64{}
	if link := w.Arch().Link; link != "" {
		backs = append(backs, regs.Get(link))
	}
	for i := range words {
		backs = append(backs, binary.LittleEndian.Uint64(stack[i*8:]))
	}
	for _, back := range backs {
		if isSubmitted(w.Program, back-1) {
			return w.place(back - 1)
		}
	}
	return machine.Place{}
}
