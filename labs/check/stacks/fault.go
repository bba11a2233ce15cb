package stacks

import (
	"context"
	"fmt"
	"strings"
	"syscall"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// otherFaults checks that what is no overflow ends the program as without a handler, and is not called an overflow.
func otherFaults(ctx context.Context, b *grade.Bench) ([]grade.Fault, error) {
	if faults, err := overflows(ctx, b); err != nil || len(faults) > 0 {
		if err == nil {
			faults = []grade.Fault{fault("this counts when overflows are reported")}
		}
		return faults, err
	}
	guard, err := guardSize(ctx, b)
	if err != nil {
		return nil, err
	}
	for _, c := range []struct {
		name string
		hit  hit
	}{
		{"a store to address 0", func(ctx context.Context, w *watched) (machine.Stop, error) {
			return w.touch(ctx, "lab_store", w.sp(), 0)
		}},
		{
			"a store to the guard page of a fiber that overflow_watch was not given",
			func(ctx context.Context, w *watched) (machine.Stop, error) {
				return w.touch(ctx, "lab_store", w.fibers[few].lo+64, w.fibers[few].lo-8)
			},
		},
		{"a jump to the lowest usable byte of a stack", func(ctx context.Context, w *watched) (machine.Stop, error) {
			return w.jump(ctx, w.fibers[0].lo)
		}},
		{"a store to the byte below the guard page", func(ctx context.Context, w *watched) (machine.Stop, error) {
			// Below the others' guard pages there are stacks, and a store is possible.
			stop, err := storeBelow(0, func(uint64) uint64 { return guard + 1 })(ctx, w)
			if err == nil && stop.Kind == machine.Reached {
				stop, err = storeBelow(2, func(uint64) uint64 { return guard + 1 })(ctx, w)
			}
			return stop, err
		}},
	} {
		faults, err := blindFirst(
			func(blind bool) ([]grade.Fault, error) { return otherFault(ctx, b, blind, c.name, c.hit) },
		)
		if err != nil || len(faults) > 0 {
			return faults, err
		}
	}
	return nil, nil
}

// jump runs what lies at addr.
func (w *watched) jump(ctx context.Context, addr uint64) (machine.Stop, error) {
	if err := w.onStack(addr, w.sp()); err != nil {
		return machine.Stop{}, err
	}
	return w.Run(ctx, w.back())
}

// otherFault checks one fault that is no overflow.
func otherFault(ctx context.Context, b *grade.Bench, blind bool, name string, hit hit) ([]grade.Fault, error) {
	judged := true
	w, faults, err := afterHit(
		ctx, b, blind, few, hit,
		func(ctx context.Context, w *watched, stop machine.Stop) ([]grade.Fault, error) {
			if stop.Kind != machine.Signalled {
				judged = false // there lies memory of another part of the program
				return nil, nil
			}
			end, _, err := w.end(ctx, stop)
			function, begin := w.handler()
			switch {
			case err != nil:
				return nil, err
			case w.allocates(end) != nil:
				return w.allocates(end), nil
			case end.Kind == machine.Killed && end.Signal == syscall.SIGSEGV:
				return nil, nil
			case end.Kind == machine.Exited && end.Status == w.status:
				return []grade.Fault{
					{
						Text: fmt.Sprintf(
							"%s is called an overflow: %s ends the process with status %d, which is for overflows",
							name, function, end.Status,
						),
						Place: begin,
					},
				}, nil
			case end.Kind == machine.Signalled:
				return []grade.Fault{
					{
						Text: fmt.Sprintf(
							"after %s SIGSEGV arrives again and again: %s must have the process end by it, as by "+
								"signal(sig, SIG_DFL)",
							name, function,
						),
						Place: begin,
					},
				}, nil
			}
			return []grade.Fault{
				{
					Text: fmt.Sprintf(
						"after %s the process %s: without %s, SIGSEGV would end it", name, end, function,
					),
					Place: begin,
				},
			}, nil
		},
	)
	if err != nil || len(faults) > 0 || !judged {
		return faults, err
	}
	for _, other := range w.names {
		if said := w.said(); strings.Contains(said, other) {
			return []grade.Fault{fault("%s is reported as an overflow of a fiber: %s", name, quoted(said))}, nil
		}
	}
	return nil, nil
}

// watchRefusals checks what overflow_watch returns when the kernel refuses what it asks for.
func watchRefusals(ctx context.Context, b *grade.Bench) ([]grade.Fault, error) {
	return in(ctx, b, func(ctx context.Context, w *world) ([]grade.Fault, error) {
		ws, faults, err := w.watch(ctx, few)
		if err != nil || faults != nil {
			return faults, err
		}
		table := ws.fibers[0].at - 8
		asked := map[string]bool{}
		for refused, made := range ws.calls {
			asked[made.name] = true
			result, _, err := w.follow(ctx, watchName, refused, syscall.EPERM, table, uint64(len(ws.fibers)-1), 1)
			if err != nil {
				return nil, err
			}
			if result != uint64(syscall.EPERM) {
				return []grade.Fault{
					{
						Text: fmt.Sprintf(
							"%s fails with %s, and overflow_watch returns %s", strings.TrimPrefix(made.name, "rt_"),
							errno(uint64(syscall.EPERM)), errno(result),
						),
						Place: made.place,
					},
				}, nil
			}
		}
		for _, name := range []string{"sigaltstack", "rt_sigaction"} {
			if !asked[name] {
				return []grade.Fault{
					fault(
						"overflow_watch does not call %s, so nothing can be refused", strings.TrimPrefix(name, "rt_"),
					),
				}, nil
			}
		}
		return nil, nil
	})
}
