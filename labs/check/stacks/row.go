package stacks

import (
	"encoding/binary"
	"fmt"
)

// row is what is known at one instruction.
type row struct {
	cfaRegister uint64
	cfaOffset   int64
	back, fp    rule // how the return address and the frame pointer of the caller are found
}

// rule says where a register of the caller is.
type rule struct {
	kind   ruleKind
	offset int64 // from the start of the frame, of ruleOffset
}

type ruleKind int

const (
	ruleSame      ruleKind = iota // it is unchanged
	ruleUndefined                 // there is none: of the return address, no frame lies above
	ruleOffset                    // it is saved at offset
	ruleOther                     // in another way, which assembly of this lab does not need
)

// row finds what is known at pc. Known is false if nothing is.
func (t *frameTable) row(pc uint64) (r row, known bool, err error) {
	defer func() {
		if p := recover(); p != nil { // an index beyond the data
			err = fmt.Errorf("%w: %v", errFrames, p)
		}
	}()
	for at := 0; at+8 <= len(t.data); {
		length := int(binary.LittleEndian.Uint32(t.data[at:]))
		if length == 0 {
			at += 4
			continue
		}
		start := at + 4
		end := start + length
		if id := binary.LittleEndian.Uint32(t.data[start:]); id != 0 {
			common := start - int(id)
			c := t.common(common)
			d := decoder{t.data[:end], start + 4}
			first := d.address(c.encoding, t.address)
			size := d.address(c.encoding&0x0f, 0)
			if pc >= first && pc < first+size {
				if c.augmented {
					d.skip()
				}
				return t.run(c, d, first, pc), true, nil
			}
		}
		at = end
	}
	return row{}, false, nil
}

// run executes the instructions of an entry up to pc.
func (t *frameTable) run(c common, d decoder, first, pc uint64) row {
	r := row{back: rule{kind: ruleSame}}
	location := uint64(0) // the common instructions hold from the first on
	t.execute(c, c.initial, &r, row{}, &location, pc)
	start := r
	location = first
	t.execute(c, d, &r, start, &location, pc)
	return r
}

// execute is one list of instructions, DW_CFA. Instructions that restore go back to start.
func (t *frameTable) execute(c common, d decoder, r *row, start row, location *uint64, pc uint64) {
	var remembered []row
	set := func(register uint64, to rule) {
		switch register {
		case t.ret:
			r.back = to
		case t.fp:
			r.fp = to
		}
	}
	restore := func(register uint64) {
		set(register, map[bool]rule{true: start.back, false: start.fp}[register == t.ret])
	}
	scaled := func(n int64) int64 { return n * c.dataFactor }
	for d.at < len(d.data) && *location <= pc {
		b := d.byte()
		low := uint64(b & 0x3f)
		advance := uint64(0)
		switch {
		case b&0xc0 == 0x40:
			advance = low
		case b&0xc0 == 0x80:
			set(low, rule{ruleOffset, scaled(int64(d.unsigned()))})
		case b&0xc0 == 0xc0:
			restore(low)
		case b == 0x01:
			*location = d.address(c.encoding, t.address)
		case b == 0x02:
			advance = d.fixed(1)
		case b == 0x03:
			advance = d.fixed(2)
		case b == 0x04:
			advance = d.fixed(4)
		case b == 0x05:
			register := d.unsigned()
			set(register, rule{ruleOffset, scaled(int64(d.unsigned()))})
		case b == 0x06:
			restore(d.unsigned())
		case b == 0x07:
			set(d.unsigned(), rule{kind: ruleUndefined})
		case b == 0x08:
			set(d.unsigned(), rule{kind: ruleSame})
		case b == 0x09:
			register := d.unsigned()
			d.unsigned()
			set(register, rule{kind: ruleOther})
		case b == 0x0a:
			remembered = append(remembered, *r)
		case b == 0x0b && len(remembered) > 0:
			*r, remembered = remembered[len(remembered)-1], remembered[:len(remembered)-1]
		case b == 0x0c:
			r.cfaRegister, r.cfaOffset = d.unsigned(), int64(d.unsigned())
		case b == 0x0d:
			r.cfaRegister = d.unsigned()
		case b == 0x0e:
			r.cfaOffset = int64(d.unsigned())
		case b == 0x0f:
			d.skip()
		case b == 0x10 || b == 0x16:
			register := d.unsigned()
			d.skip()
			set(register, rule{kind: ruleOther})
		case b == 0x11:
			register := d.unsigned()
			set(register, rule{ruleOffset, scaled(d.signed())})
		case b == 0x12:
			r.cfaRegister, r.cfaOffset = d.unsigned(), scaled(d.signed())
		case b == 0x13:
			r.cfaOffset = scaled(d.signed())
		case b == 0x14:
			register := d.unsigned()
			d.unsigned()
			set(register, rule{kind: ruleOther})
		case b == 0x2e:
			d.unsigned()
		}
		*location += advance * c.codeFactor
	}
}
