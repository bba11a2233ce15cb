package stacks

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
	"fiberlab/labs/record"
)

const (
	margin    = 64      // bytes on either side of a context and of a stack, which must stay as they are
	mostAbove = 128     // bytes that the first frames may take above the body's
	biggest   = 1 << 14 // bytes of a context
)

// fresh is a fiber that has been prepared and not been entered.
type fresh struct {
	context, size uint64 // the context and its size
	stack, length uint64 // the lowest address of the stack and its bytes
	target, arg   uint64
	around        []record.Region // what must stay as it is, with the bytes that are there
}

func (f *fresh) top() uint64 { return f.stack + f.length }

// entry is what the first swap to a fiber led to.
type entry struct {
	fresh
	regs    machine.Registers // at the first instruction of the body
	back    uint64            // where the body returns to
	called  machine.Place     // the line that calls it
	call    uint64            // the stack pointer at that call
	outside []grade.Fault     // what was written where nothing should be
	lost    []grade.Fault     // why the body was not entered; the fields above are empty then
	chain   func(addr uint64) (uint64, error)
	program *machine.Program
}

// entries returns what the first swaps to fibers on several stacks led to.
func entries(ctx context.Context, b *grade.Bench) ([]*entry, error) {
	return grade.Shared(ctx, b, "first swaps", func(ctx context.Context) ([]*entry, error) {
		var all []*entry
		_, err := in(ctx, b, func(ctx context.Context, w *world) ([]grade.Fault, error) {
			var prepared []*entry
			for i, c := range []struct{ offset, length uint64 }{
				{0, 4096}, {16, 8192}, {8, 4096}, {0, 4096 + 8}, {1, 4096}, {3, 1000}, {15, 1 + 2*4096}, {0, 4096 - 1},
				{w.bench.Random.Uint64N(64), 512 + w.bench.Random.Uint64N(4096)}, {w.bench.Random.Uint64N(64), 256},
			} {
				e, err := w.prepare(ctx, i, c.offset, c.length)
				if err != nil {
					return nil, err
				}
				prepared = append(prepared, e)
			}
			// All are prepared before one is entered, so that what one has must be its own.
			for _, e := range prepared {
				if err := w.enter(ctx, e); err != nil {
					return nil, err
				}
				all = append(all, e)
			}
			return nil, w.snapshot(all)
		})
		return all, err
	})
}

// prepare calls marl_fiber_set_target. The stack begins offset bytes above a multiple of 64.
func (w *world) prepare(ctx context.Context, i int, offset, length uint64) (*entry, error) {
	e := &entry{fresh: fresh{length: length, target: w.Place(i), arg: w.bench.Word()}, program: w.Program}
	var err error
	if e.size, err = w.Word(w.Symbol(sizeName)); err != nil {
		return nil, err
	}
	if e.size == 0 || e.size > biggest {
		return nil, &grade.Trouble{
			Doing: sizeName, What: fmt.Sprintf("is %d: it must be sizeof(struct marl_fiber_context)", e.size),
		}
	}
	room, err := w.Alloc(int(margin+e.size+margin), 64)
	if err != nil {
		return nil, err
	}
	e.context = room + margin
	below, err := w.Alloc(int(margin+offset+length+margin), 64)
	if err != nil {
		return nil, err
	}
	e.stack = below + margin + offset
	for _, r := range []record.Region{
		{Name: "below the context", Address: record.Word(room), Initial: make([]byte, margin)},
		{Name: "above the context", Address: record.Word(e.context + e.size), Initial: make([]byte, margin)},
		{Name: "below the stack", Address: record.Word(below), Initial: make([]byte, margin+offset)},
		{Name: "above the stack", Address: record.Word(e.top()), Initial: make([]byte, margin)},
	} {
		if err := w.Read(uint64(r.Address), r.Initial); err != nil {
			return nil, err
		}
		e.around = append(e.around, r)
	}
	if i > 0 {
		_, err = w.Call(ctx, setTargetName, e.context, e.stack, e.length, e.target, e.arg)
		return e, errors.Join(err, w.intact(e, setTargetName))
	}
	_, err = w.Enter(
		w.ready, w.Symbol(setTargetName), w.sp(), w.back(), e.context, e.stack, e.length, e.target, e.arg,
	)
	if err != nil {
		return nil, err
	}
	steps, err := w.Record(ctx, setTargetName, nil, w.back())
	if err != nil {
		return nil, err
	}
	e.static(steps, setTargetName)
	return e, w.intact(e, setTargetName)
}

// static notes what was written to variables of the submission, in place of the context or the stack.
func (e *entry) static(steps *record.Recording, doing string) {
	for _, step := range steps.Steps {
		if name := step.Elsewhere.Variable(); name != "" && len(e.outside) == 0 {
			e.outside = append(e.outside, grade.Fault{Place: step.Place, Text: fmt.Sprintf(
				"%s stores to the static variable %s: all fibers and all threads have one. Keep the value in the "+
					"context or on the stack",
				doing, name,
			)})
		}
	}
}

// intact notes what was written around the context and the stack.
func (w *world) intact(e *entry, doing string) error {
	for _, r := range e.around {
		now := make([]byte, len(r.Initial))
		if err := w.Read(uint64(r.Address), now); err != nil {
			return err
		}
		if !bytes.Equal(now, r.Initial) && len(e.outside) == 0 {
			e.outside = append(
				e.outside, fault("%s writes %s, with a stack of %d bytes at %#x", doing, r.Name, e.length, e.stack),
			)
		}
	}
	return nil
}

// enter swaps to a fiber for the first time.
func (w *world) enter(ctx context.Context, e *entry) error {
	from, err := w.Alloc(int(e.size), 64)
	if err != nil {
		return err
	}
	regs := w.ready.Clone()
	for _, register := range w.Arch().Saved {
		regs.Set(register, w.bench.Word())
	}
	if _, err := w.Enter(regs, w.Symbol(swapName), w.sp(), w.back(), from, e.context); err != nil {
		return err
	}
	until := []uint64{w.back(), w.Symbol(returnedName)}
	for i := range grade.Placements {
		until = append(until, w.Place(i))
	}
	steps, err := w.Record(ctx, "the first swap to a fiber", nil, until...)
	var trouble *grade.Trouble
	if err != nil && !errors.As(err, &trouble) {
		return err
	}
	e.static(steps, "the first swap to a fiber")
	if len(steps.Steps) > 0 {
		e.called = steps.Steps[len(steps.Steps)-1].Place
	}
	if trouble != nil && trouble.Stop.Kind >= machine.Exited {
		e.lost = []grade.Fault{{Text: "the first swap to a fiber " + trouble.What, Place: trouble.Place}}
		return nil
	}
	if e.regs, err = w.Registers(); err != nil {
		return err
	}
	if err := w.intact(e, "the first swap to a fiber"); err != nil {
		return err
	}
	pc := e.regs.PC()
	switch {
	case pc == e.target && trouble == nil:
	case trouble != nil:
		e.lose(w.astray(e, trouble))
	case pc == w.Symbol(returnedName):
		e.lose("the first entry comes to marl_fiber_returned, and target, the body, has not been called")
	case pc == w.back():
		e.lose("the first swap to a fiber returns to its caller, on the stack that it should have left")
	default:
		e.lose("the first swap to a fiber comes to the target of another fiber: each context must keep its own")
	}
	if e.lost != nil {
		return nil
	}
	if e.call = e.regs.SP(); w.Arch().Link == "" {
		if e.back, err = w.Word(e.call); err != nil {
			e.lose(fmt.Sprintf(
				"%s is %#x when target is entered%s: no memory is there", w.Arch().SP, e.call, w.whatIs(e, e.call),
			))
			return nil
		}
		e.call += 8
	} else {
		e.back = e.regs.Get(w.Arch().Link)
	}
	return nil
}

// astray says where the first swap led in place of target.
func (w *world) astray(e *entry, trouble *grade.Trouble) string {
	a := w.Arch()
	text := "the first swap to what marl_fiber_set_target has prepared does not come to target, the body: it " +
		trouble.What
	if pc := e.regs.PC(); pc == 0 {
		text += ", having jumped to address 0"
	} else {
		text += fmt.Sprintf(" with %s = %#x%s", a.PC, pc, w.whatIs(e, pc))
	}
	if sp := e.regs.SP(); sp < e.stack || sp > e.top() {
		text += fmt.Sprintf(", and the stack pointer, %s, is %#x, outside of the fiber's stack", a.SP, sp)
	}
	return text
}

func (e *entry) lose(text string) { e.lost = []grade.Fault{{Text: text, Place: e.called}} }

// whatIs says what a value is that stands where another one should.
func (w *world) whatIs(e *entry, value uint64) string {
	text := ""
	switch {
	case value == 0:
		return ""
	case value == e.arg:
		text = "arg"
	case value == e.target:
		text = "target"
	case value == e.context:
		text = "the address of the context"
	case value == e.stack:
		text = "stack, the lowest address"
	case value == e.top():
		text = "stack + size"
	case value == e.length:
		text = "size"
	case value > e.stack && value < e.top():
		text = "in the stack"
	case value == w.Symbol(firstName):
		text = "marl_fiber_trampoline"
	}
	holders := ""
	for _, register := range w.Arch().Saved {
		if e.regs.Get(register) == value {
			holders += " " + register
		}
	}
	if text == "" {
		if symbol, known := w.Program.At(value); known {
			text = symbol.Name
		}
	}
	if holders != "" {
		holders = " (as in" + holders + ")"
	}
	if text == "" {
		return holders
	}
	return ", which is " + text + holders
}

// snapshot lets the memory of the stacks be read when the program has ended.
func (w *world) snapshot(all []*entry) error {
	for _, e := range all {
		image := make([]byte, e.length)
		if err := w.Read(e.stack, image); err != nil {
			return err
		}
		e.chain = func(addr uint64) (uint64, error) {
			if addr < e.stack || addr+8 > e.top() {
				return 0, fmt.Errorf("%#x is not in the stack", addr)
			}
			var word uint64
			for i := range uint64(8) {
				word |= uint64(image[addr-e.stack+i]) << (8 * i)
			}
			return word, nil
		}
	}
	return nil
}
