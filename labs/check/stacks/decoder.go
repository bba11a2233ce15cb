package stacks

import "fmt"

// decoder reads the bytes of an entry, one after the other.
type decoder struct {
	data []byte
	at   int
}

func (d *decoder) byte() byte {
	d.at++
	return d.data[d.at-1]
}

func (d *decoder) fixed(bytes int) uint64 {
	var value uint64
	for i := range bytes {
		value |= uint64(d.byte()) << (8 * i)
	}
	return value
}

// unsigned reads a ULEB128.
func (d *decoder) unsigned() uint64 {
	var value uint64
	for shift := 0; ; shift += 7 {
		b := d.byte()
		value |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return value
		}
	}
}

// signed reads an SLEB128.
func (d *decoder) signed() int64 {
	var value int64
	for shift := 0; ; shift += 7 {
		b := d.byte()
		value |= int64(b&0x7f) << shift
		if b < 0x80 {
			if b&0x40 != 0 && shift+7 < 64 {
				value |= -1 << (shift + 7)
			}
			return value
		}
	}
}

// skip passes over a block that begins with its length. It panics if the block goes beyond the data: the length may be
// any number.
func (d *decoder) skip() {
	length := d.unsigned()
	if length > uint64(len(d.data)-d.at) {
		panic(fmt.Sprintf("a block has %d bytes", length))
	}
	d.at += int(length)
}

// address reads an address in one of the encodings DW_EH_PE. base is the address of d.data.
func (d *decoder) address(encoding byte, base uint64) uint64 {
	here := base + uint64(d.at)
	var value uint64
	switch encoding & 0x0f {
	case 0x00, 0x04, 0x0c:
		value = d.fixed(8)
	case 0x01:
		value = d.unsigned()
	case 0x02:
		value = d.fixed(2)
	case 0x0a:
		value = uint64(int16(d.fixed(2)))
	case 0x03:
		value = d.fixed(4)
	case 0x0b:
		value = uint64(int32(d.fixed(4)))
	}
	if encoding&0x70 == 0x10 {
		value += here
	}
	return value
}
