package stacks

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// returns checks what happens when a body returns.
func returns(ctx context.Context, b *grade.Bench) ([]grade.Fault, error) {
	var said *world
	var silent bool
	faults, err := in(ctx, b, func(ctx context.Context, w *world) ([]grade.Fault, error) {
		said = w
		e, err := w.prepare(ctx, 0, w.bench.Random.Uint64N(64), 16<<10)
		if err != nil {
			return nil, err
		}
		if err := w.enter(ctx, e); err != nil {
			return nil, err
		}
		if e.lost != nil {
			return notEntered(e), nil
		}
		if faults, err := w.comeBack(ctx, e); err != nil || faults != nil {
			return faults, err
		}
		faults, err := w.abort(ctx)
		silent = faults == nil
		return faults, err
	})
	if err != nil || len(faults) > 0 || !silent {
		return faults, err
	}
	if text := said.errors.String(); text == "" && said.output.String() != "" {
		return []grade.Fault{
			fault(
				"marl_fiber_returned prints to standard output (1): " +
					"it must say what is wrong on standard error (2, STDERR_FILENO)",
			),
		}, nil
	} else if len(text) < 2 || text[len(text)-1] != '\n' {
		return []grade.Fault{fault("marl_fiber_returned prints %s: "+
			"it must say in a line on standard error what is wrong", quoted(text))}, nil
	}
	return nil, nil
}

// comeBack returns from the body, and checks that marl_fiber_returned is called.
func (w *world) comeBack(ctx context.Context, e *entry) ([]grade.Fault, error) {
	a := w.Arch()
	regs := e.regs.Clone()
	for _, register := range append([]string{a.Result}, a.Arguments...) {
		regs.Set(register, w.bench.Word()) // a body may change them
	}
	regs.Set(a.SP, e.call)
	regs.Set(a.PC, e.back)
	if err := w.SetRegisters(regs); err != nil {
		return nil, err
	}
	steps, err := w.Record(
		ctx, "the return of a body", nil,
		append([]uint64{w.Symbol(returnedName), w.back()}, w.Place(0), w.Place(1))...)
	var trouble *grade.Trouble
	if err != nil && !errors.As(err, &trouble) {
		return nil, err
	}
	place := machine.Place{}
	if len(steps.Steps) > 0 {
		place = steps.Steps[len(steps.Steps)-1].Place
	}
	if trouble != nil {
		return []grade.Fault{
			{Text: "the return of a body does not lead to marl_fiber_returned: it " + trouble.What, Place: place},
		}, nil
	}
	now, err := w.Registers()
	if err != nil {
		return nil, err
	}
	if now.PC() != w.Symbol(returnedName) {
		return []grade.Fault{
			{Text: "the return of a body does not lead to marl_fiber_returned, but to target again", Place: place},
		}, nil
	}
	call := now.SP()
	if a.Link == "" {
		call += 8
	}
	if call%16 != 0 {
		return []grade.Fault{
			{
				Text: fmt.Sprintf(
					"%s is %#x at the call of marl_fiber_returned: alignment: it must be a multiple of 16 there", a.SP,
					call,
				),
				Place: place,
			},
		}, nil
	}
	return nil, nil
}

// abort runs the program to its end, which must be SIGABRT.
func (w *world) abort(ctx context.Context) ([]grade.Fault, error) {
	for range 4 {
		stop, err := w.Run(ctx)
		if err != nil {
			return nil, late(err, returnedName, "does not end the process: it must end it by abort()", machine.Place{})
		}
		switch {
		case stop.Kind == machine.Signalled && stop.Signal == syscall.SIGABRT:
			if err := w.Deliver(stop.Signal); err != nil {
				return nil, err
			}
		case stop.Kind == machine.Killed && stop.Signal == syscall.SIGABRT:
			return nil, nil
		default:
			return []grade.Fault{fault("marl_fiber_returned %s: it must end the process by abort()", stop)}, nil
		}
	}
	return []grade.Fault{fault("marl_fiber_returned does not end the process: it must end it by abort()")}, nil
}
