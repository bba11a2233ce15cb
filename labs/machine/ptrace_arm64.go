package machine

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// breakpoint is the instruction brk #0.
var breakpoint = []byte{0x00, 0x00, 0x20, 0xd4}

// conditionFlags are the bits of pstate that nzcv holds.
const conditionFlags = 0xf << 28

var arm64General, arm64Float = numbered("x", 0, 30), numbered("d", 0, 31)

// processor is what the kernel keeps of a stopped program's registers.
type processor struct {
	general unix.PtraceRegsArm64
	float   [528]byte // v0 to v31, fpsr, fpcr, and eight bytes that are not used
}

const controlRegister = 516 // the offset of fpcr in processor.float

func (p *processor) read(pid int) error {
	if err := getSet(pid, unix.NT_PRSTATUS, &p.general); err != nil {
		return err
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
	return setSet(pid, unix.NT_PRSTATUS, &p.general)
}

func (p *processor) values(r Registers) {
	for i := range 31 {
		r.Set(arm64General[i], p.general.Regs[i])
	}
	for i := range 32 {
		r.Set(arm64Float[i], binary.LittleEndian.Uint64(p.float[16*i:]))
	}
	r.Set("sp", p.general.Sp)
	r.Set("pc", p.general.Pc)
	r.Set("nzcv", p.general.Pstate&conditionFlags)
	r.Set("fpcr", uint64(binary.LittleEndian.Uint32(p.float[controlRegister:])))
}

func (p *processor) setValues(r Registers) {
	for i := range 31 {
		p.general.Regs[i] = r.Get(arm64General[i])
	}
	for i := range 32 {
		binary.LittleEndian.PutUint64(p.float[16*i:], r.Get(arm64Float[i]))
	}
	p.general.Sp = r.Get("sp")
	p.general.Pc = r.Get("pc")
	p.general.Pstate = p.general.Pstate&^conditionFlags | r.Get("nzcv")&conditionFlags
	binary.LittleEndian.PutUint32(p.float[controlRegister:], uint32(r.Get("fpcr")))
}

func (p *processor) pc() *uint64 { return &p.general.Pc }

// callNumber returns the system call that the program was making.
func (p *processor) callNumber() int { return int(int32(p.general.Regs[8])) }
