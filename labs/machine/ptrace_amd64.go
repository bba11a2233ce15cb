package machine

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// breakpoint is the instruction int3.
var breakpoint = []byte{0xcc}

// processor is what the kernel keeps of a stopped program's registers.
type processor struct {
	general unix.PtraceRegs
	float   [512]byte // as fxsave stores it
}

// Offsets in processor.float.
const (
	controlWord = 0
	mxcsr       = 24
)

func (p *processor) read(pid int) error {
	if err := getSet(pid, unix.NT_PRSTATUS, &p.general); err != nil {
		return err
	}
	if p.general.Cs == 0 { // the registers of the mode of 32 bits are fewer, and do not come as far as this one
		return ErrMode
	}
	return getSet(pid, unix.NT_PRFPREG, &p.float)
}

func (p *processor) write(pid int, old *processor) error {
	if p.float != old.float {
		if err := setSet(pid, unix.NT_PRFPREG, &p.float); err != nil {
			return err
		}
	}
	if p.general == old.general {
		return nil
	}
	if p.general.Rip != old.general.Rip {
		// else the kernel would start an interrupted system call again, from the new place
		p.general.Orig_rax = ^uint64(0)
	}
	return setSet(pid, unix.NT_PRSTATUS, &p.general)
}

func (p *processor) fields() []*uint64 { // in the order of AMD64.Registers, up to eflags
	g := &p.general
	return []*uint64{
		&g.Rip, &g.Rsp, &g.Rbp, &g.Rbx, &g.R12, &g.R13, &g.R14, &g.R15, &g.Rdi, &g.Rsi, &g.Rdx, &g.Rcx, &g.R8, &g.R9,
		&g.Rax, &g.R10, &g.R11, &g.Eflags,
	}
}

func (p *processor) values(r Registers) {
	fields := p.fields()
	for i, field := range fields {
		r.values[i] = *field
	}
	r.values[len(fields)] = uint64(binary.LittleEndian.Uint32(p.float[mxcsr:]))
	r.values[len(fields)+1] = uint64(binary.LittleEndian.Uint16(p.float[controlWord:]))
}

func (p *processor) setValues(r Registers) {
	fields := p.fields()
	for i, field := range fields {
		*field = r.values[i]
	}
	binary.LittleEndian.PutUint32(p.float[mxcsr:], uint32(r.values[len(fields)]))
	binary.LittleEndian.PutUint16(p.float[controlWord:], uint16(r.values[len(fields)+1]))
}

func (p *processor) pc() *uint64 { return &p.general.Rip }

// callNumber returns the system call that the program was making.
func (p *processor) callNumber() int { return int(p.general.Orig_rax) }
