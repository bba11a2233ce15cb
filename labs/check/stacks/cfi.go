package stacks

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"

	"fiberlab/labs/machine"
)

// frameTable is a program's call frame information (its section .eh_frame): for each instruction, where the frame above
// begins and where registers are saved.
type frameTable struct {
	data        []byte
	address     uint64 // of data in the program
	sp, fp, ret uint64 // DWARF's numbers of the stack pointer, the frame pointer and the return address
}

// mostFrameInformation is far more than a program of this lab has, in bytes. All of it is read for each frame.
const mostFrameInformation = 1 << 20

var errFrames = errors.New("it is not as expected")

// readFrames reads the table of a program. A program without one has an empty one; errFrames says that it is too large.
func readFrames(p *machine.Program) (*frameTable, error) {
	f, err := elf.Open(p.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t := &frameTable{sp: 7, fp: 6, ret: 16}
	if p.Arch == machine.ARM64 {
		t = &frameTable{sp: 31, fp: 29, ret: 30}
	}
	section := f.Section(".eh_frame")
	if section == nil {
		return t, nil
	}
	if section.Size > mostFrameInformation {
		return nil, fmt.Errorf("%w: it has %d bytes", errFrames, section.Size)
	}
	t.address = section.Addr
	t.data, err = section.Data()
	return t, err
}

// common is what the entries of several functions have in common.
type common struct {
	codeFactor uint64
	dataFactor int64
	encoding   byte
	augmented  bool
	initial    decoder
}

func (t *frameTable) common(at int) common {
	end := at + 4 + int(binary.LittleEndian.Uint32(t.data[at:]))
	d := decoder{t.data[:end], at + 9}
	var c common
	augmentation := ""
	for b := d.byte(); b != 0; b = d.byte() {
		augmentation += string(rune(b))
	}
	c.codeFactor, c.dataFactor = d.unsigned(), d.signed()
	d.unsigned() // the register of the return address, which is always the same here
	if augmentation != "" && augmentation[0] == 'z' {
		c.augmented = true
		length := int(d.unsigned())
		rest := d.at + length
		for _, letter := range augmentation[1:] {
			switch letter {
			case 'R':
				c.encoding = d.byte()
			case 'L':
				d.byte()
			case 'P':
				d.address(d.byte(), t.address)
			}
		}
		d.at = rest
	}
	c.initial = d
	return c
}
