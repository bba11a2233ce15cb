package stacks

import (
	"context"
	"errors"
	"fmt"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// mostFrames is how many frames there may be between a body and the end of its backtrace.
const mostFrames = 8

// framePointers follows the frame pointers from the body on.
func framePointers(ctx context.Context, b *grade.Bench) ([]grade.Fault, error) {
	register := framePointer(b.Program.Arch)
	return ofEntries(ctx, b, func(e *entry) []grade.Fault {
		fp := e.regs.Get(register)
		at := register
		for range mostFrames {
			if fp == 0 {
				return nil
			}
			next, err := e.chain(fp)
			if err != nil {
				return []grade.Fault{
					{
						Text: fmt.Sprintf(
							"%s is %#x when target is entered: a backtrace by frame pointers goes on there, outside "+
								"of the stack: marl_fiber_set_target or the trampoline must make the outermost one 0",
							at, fp,
						),
						Place: e.called,
					},
				}
			}
			if next != 0 && next <= fp {
				return []grade.Fault{
					{
						Text: fmt.Sprintf(
							"%s is %#x when target is entered, and the frame there names %#x as the next, "+
								"which is not above it",
							at, fp, next,
						),
						Place: e.called,
					},
				}
			}
			at, fp = fmt.Sprintf("the frame pointer at %#x, to which %s leads,", fp, register), next
		}
		return []grade.Fault{
			{Text: fmt.Sprintf("%s leads to more than %d frames above target", register, mostFrames), Place: e.called},
		}
	})
}

func framePointer(a *machine.Arch) string {
	if a == machine.ARM64 {
		return "x29"
	}
	return "rbp"
}

// frameInformation unwinds from the body on as debuggers and C++ do.
func frameInformation(ctx context.Context, b *grade.Bench) ([]grade.Fault, error) {
	table, err := readFrames(b.Program)
	if errors.Is(err, errFrames) {
		return []grade.Fault{fault("the call frame information cannot be read: %v", err)}, nil
	}
	if err != nil {
		return nil, err
	}
	return ofEntries(ctx, b, func(e *entry) []grade.Fault { return table.unwind(e) })
}

// unwind follows the frames above the body until one says that nothing has called it.
func (t *frameTable) unwind(e *entry) []grade.Fault {
	a := e.program.Arch
	undefined := ".cfi_undefined %rip"
	if a == machine.ARM64 {
		undefined = ".cfi_undefined x30"
	}
	back, sp, fp := e.back, e.call, e.regs.Get(framePointer(a))
	for range mostFrames {
		name := fmt.Sprintf("%#x", back)
		if symbol, known := e.program.At(back - 1); known {
			name = symbol.Name
		}
		place, _ := e.program.Place(back - 1)
		row, known, err := t.row(back - 1)
		switch {
		case err != nil:
			return []grade.Fault{
				{Text: fmt.Sprintf("the call frame information of %s cannot be read: %v", name, err), Place: place},
			}
		case !known:
			return []grade.Fault{
				{
					Text: fmt.Sprintf(
						"%s, to which target returns, has no call frame information: a debugger has to guess where "+
							"its caller is (.cfi_startproc, %s, .cfi_endproc)",
						name, undefined,
					),
					Place: place,
				},
			}
		case row.back.kind == ruleUndefined:
			return nil
		}
		cfa := sp
		if row.cfaRegister == t.fp {
			cfa = fp
		} else if row.cfaRegister != t.sp {
			text := fmt.Sprintf("the call frame information of %s counts from register %d", name, row.cfaRegister)
			return []grade.Fault{{Text: text, Place: place}}
		}
		cfa += uint64(row.cfaOffset)
		if row.back.kind != ruleOffset {
			return []grade.Fault{
				{
					Text: fmt.Sprintf(
						"by its call frame information, %s has been called from where its callee returns to, so a "+
							"backtrace has it again and again: nothing has called it, which %s says",
						name, undefined,
					),
					Place: place,
				},
			}
		}
		saved := cfa + uint64(row.back.offset)
		word, err := e.chain(saved)
		if err != nil {
			return []grade.Fault{
				{
					Text: fmt.Sprintf(
						"by its call frame information, the return address of %s lies at %#x, outside of the stack, "+
							"and a backtrace goes on there: nothing has called it, which %s says",
						name, saved, undefined,
					),
					Place: place,
				},
			}
		}
		if word == 0 {
			return nil
		}
		if _, known := e.program.At(word - 1); !known {
			return []grade.Fault{
				{
					Text: fmt.Sprintf(
						"by its call frame information, the return address of %s is %#x, which is no code, and a "+
							"backtrace goes on there: nothing has called it, which %s says",
						name, word, undefined,
					),
					Place: place,
				},
			}
		}
		if row.fp.kind == ruleOffset {
			if fp, err = e.chain(cfa + uint64(row.fp.offset)); err != nil {
				fp = 0
			}
		}
		back, sp = word, cfa
	}
	return []grade.Fault{
		{Text: fmt.Sprintf("a backtrace has more than %d frames above target", mostFrames), Place: e.called},
	}
}
