package machine

import (
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// stubRegister is a register as the stub describes it.
type stubRegister struct {
	number int
	size   int // bytes
	offset int // in the answer to the packet g, if that holds it
}

// stubName returns what the stub calls a register of Arch.Registers. The processors of Arm that qemu emulates have
// either v0 to v31 or, with longer vectors, z0 to z31. The low 8 bytes of these are d0 to d31.
func stubName(described map[string]stubRegister, name string) string {
	switch {
	case name == "nzcv":
		return "cpsr"
	case name == "x87cw":
		return "fctrl"
	case name[0] == 'd' && name[1] >= '0' && name[1] <= '9':
		if _, ok := described["v"+name[1:]]; ok {
			return "v" + name[1:]
		}
		return "z" + name[1:]
	}
	return name
}

// describe asks the stub for the registers that it knows.
func (s *stub) describe() (map[string]stubRegister, error) {
	var target struct {
		Includes []struct {
			Href string `xml:"href,attr"`
		} `xml:"include"`
	}
	text, err := s.document("features:read:target.xml")
	if err != nil {
		return nil, err
	}
	if err := xml.Unmarshal(text, &target); err != nil {
		return nil, fmt.Errorf("qemu's description of its registers: %w", err)
	}
	described := map[string]stubRegister{}
	number, offset := 0, 0
	for _, include := range target.Includes {
		if strings.Contains(include.Href, "system") {
			continue // hundreds, of no use to a program
		}
		var feature struct {
			Registers []struct {
				Name   string `xml:"name,attr"`
				Bits   int    `xml:"bitsize,attr"`
				Number string `xml:"regnum,attr"`
			} `xml:"reg"`
		}
		text, err := s.document("features:read:" + include.Href)
		if err != nil {
			return nil, err
		}
		if err := xml.Unmarshal(text, &feature); err != nil {
			return nil, fmt.Errorf("qemu's description of its registers, %s: %w", include.Href, err)
		}
		for _, r := range feature.Registers {
			if n, err := strconv.Atoi(r.Number); err == nil {
				number = n
			}
			described[r.Name] = stubRegister{number, r.Bits / 8, offset}
			number++
			offset += r.Bits / 8
		}
	}
	return described, nil
}

// bank are the registers of Arch.Registers as the stub sends them.
type bank struct {
	registers []stubRegister // in the order of Arch.Registers
	raw       [][]byte       // their bytes; nil: not read since the program ran
	counter   int            // the program counter
	jumps     bool           // it is another one than the stub's: resume tells the stub
	touched   int            // the number of the register cr2 of amd64, which holds the address of the last fault
	vectors   []bool         // those of arm64 that only instructions of touchesVectors change
}

func newBank(a *Arch, described map[string]stubRegister) (*bank, error) {
	b := &bank{
		raw: make([][]byte, len(a.Registers)), vectors: make([]bool, len(a.Registers)),
		counter: slices.Index(a.Registers, a.PC), touched: described["cr2"].number,
	}
	for i, name := range a.Registers {
		r, ok := described[stubName(described, name)]
		if !ok {
			return nil, fmt.Errorf("qemu does not describe register %s", name)
		}
		b.registers = append(b.registers, r)
		b.vectors[i] = a == ARM64 && a.float(i)
	}
	return b, nil
}

// read asks the stub for the registers that are not known. Each of vectors takes a packet, all others together one.
func (b *bank) read(s *stub, vectorsToo bool) error {
	var missing []int
	for i, raw := range b.raw {
		if raw == nil && (vectorsToo || !b.vectors[i]) {
			missing = append(missing, i)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	all, err := s.value("g")
	if err != nil {
		return err
	}
	var single []int
	var requests []string
	for _, i := range missing {
		if r := b.registers[i]; r.offset+r.size <= len(all) {
			b.raw[i] = all[r.offset : r.offset+r.size]
		} else {
			single = append(single, i)
			requests = append(requests, fmt.Sprintf("p%x", r.number))
		}
	}
	values, err := s.values(requests...)
	if err != nil {
		return err
	}
	for k, i := range single {
		b.raw[i] = values[k]
	}
	return nil
}

// forget says that the program may have run. If it has not changed vectors, they stay known.
func (b *bank) forget(vectorsToo bool) {
	for i := range b.raw {
		if (vectorsToo || !b.vectors[i]) && (i != b.counter || !b.jumps) {
			b.raw[i] = nil
		}
	}
}

// value returns a register's value.
func (b *bank) value(a *Arch, i int) uint64 {
	var low [8]byte
	copy(low[:], b.raw[i])
	value := binary.LittleEndian.Uint64(low[:])
	switch a.Registers[i] {
	case "nzcv":
		value &= 0xf << 28
	case "x87cw":
		value &= 0xffff
	}
	return value
}

// write has the stub change the registers whose values are others, but the program counter.
func (b *bank) write(s *stub, to Registers) error {
	var requests []string
	for i, r := range b.registers {
		if !to.has(i) || b.value(to.arch, i) == to.values[i] {
			continue
		}
		value := to.values[i]
		if to.arch.Registers[i] == "nzcv" {
			old := uint64(binary.LittleEndian.Uint32(b.raw[i]))
			value = old&^(0xf<<28) | value&(0xf<<28)
		}
		raw := slices.Clone(b.raw[i])
		var low [8]byte
		binary.LittleEndian.PutUint64(low[:], value)
		copy(raw, low[:])
		if i == b.counter {
			b.raw[i], b.jumps = raw, true
			continue
		}
		requests = append(requests, fmt.Sprintf("P%x=%x", r.number, raw))
		b.raw[i] = nil // qemu may keep some bits to itself: it is read again
	}
	return s.order(requests...)
}

// writeCounter has the stub change the program counter, if that is another one.
func (b *bank) writeCounter(s *stub) error {
	if !b.jumps {
		return nil
	}
	b.jumps = false
	return s.order(fmt.Sprintf("P%x=%x", b.registers[b.counter].number, b.raw[b.counter]))
}
