//go:build !amd64 && !arm64

package machine

import "errors"

// A processor for which no lab is: Known says so before a program is traced.
type processor struct{ counter uint64 }

var breakpoint []byte

func (p *processor) read(int) error              { return errors.ErrUnsupported }
func (p *processor) write(int, *processor) error { return errors.ErrUnsupported }
func (p *processor) values(Registers)            {}
func (p *processor) setValues(Registers)         {}
func (p *processor) pc() *uint64                 { return &p.counter }
func (p *processor) callNumber() int             { return -1 }
