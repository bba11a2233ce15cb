package stacks

import (
	"context"
	"fmt"

	"fiberlab/labs/grade"
)

// ofEntries makes an item's check of a question about one entry. The first answer counts.
func ofEntries(ctx context.Context, b *grade.Bench, question func(*entry) []grade.Fault) ([]grade.Fault, error) {
	return ofAll(ctx, b, func(e *entry) []grade.Fault {
		if e.lost != nil {
			return notEntered(e)
		}
		return question(e)
	})
}

// ofAll does so for a question about entries that may not have come to the body.
func ofAll(ctx context.Context, b *grade.Bench, question func(*entry) []grade.Fault) ([]grade.Fault, error) {
	all, err := entries(ctx, b)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		if faults := question(e); len(faults) > 0 {
			return faults, nil
		}
	}
	return nil, nil
}

// notEntered says that the body was not reached. Why, the item on the first frame says.
func notEntered(e *entry) []grade.Fault {
	return []grade.Fault{
		{Text: "target, the body, is not entered: see the first frame, above", Section: "4.4", Place: e.lost[0].Place},
	}
}

// frames checks the stack pointer at the call of the body.
func frames(ctx context.Context, b *grade.Bench) ([]grade.Fault, error) {
	return ofAll(ctx, b, func(e *entry) []grade.Fault {
		sp := b.Program.Arch.SP
		on := fmt.Sprintf("on a stack of %d bytes at %#x", e.length, e.stack)
		switch {
		case e.lost != nil:
			return e.lost
		case e.outside != nil:
			return e.outside
		case e.call > e.top():
			return []grade.Fault{
				{
					Text: fmt.Sprintf(
						"the stack pointer, %s, is %#x at the call of target, %d bytes above the top, %s: a stack "+
							"ends at stack + size",
						sp, e.call, e.call-e.top(), on,
					),
					Place: e.called,
				},
			}
		case e.call < e.stack:
			return []grade.Fault{
				{
					Text: fmt.Sprintf(
						"the stack pointer, %s, is %#x at the call of target, below the lowest address, %s", sp, e.call,
						on,
					),
					Place: e.called,
				},
			}
		case e.call%16 != 0:
			return []grade.Fault{
				{
					Text: fmt.Sprintf(
						"the stack pointer, %s, is %#x at the call of target, %s: alignment: it must be a multiple "+
							"of 16 there, and is %d more",
						sp, e.call, on, e.call%16,
					),
					Place: e.called,
				},
			}
		case e.top()-e.call >= mostAbove+16:
			return []grade.Fault{
				{
					Text: fmt.Sprintf(
						"the stack pointer, %s, is %#x at the call of target, %d bytes below the top, %s: a stack "+
							"grows down from stack + size (%d bytes may be used before target)",
						sp, e.call, e.top()-e.call, on, mostAbove,
					),
					Place: e.called,
				},
			}
		}
		return nil
	})
}

// arguments checks what the body is called with.
func arguments(ctx context.Context, b *grade.Bench) ([]grade.Fault, error) {
	return ofEntries(ctx, b, func(e *entry) []grade.Fault {
		register := b.Program.Arch.Arguments[0]
		got := e.regs.Get(register)
		if got == e.arg {
			return nil
		}
		return []grade.Fault{
			{
				Text: fmt.Sprintf(
					"%s, the argument, is %#x when target is entered%s: it must be arg, %#x", register, got,
					e.argument(got), e.arg,
				),
				Place: e.called,
			},
		}
	})
}

// argument says what a wrong argument is.
func (e *entry) argument(value uint64) string {
	switch value {
	case e.target:
		return ", which is target"
	case e.context:
		return ", the address of the context"
	case e.stack:
		return ", the stack"
	}
	return ""
}
