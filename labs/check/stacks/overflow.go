package stacks

import (
	"context"
	"fmt"
	"strings"
	"syscall"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// overflows checks that the fiber is named and that the status is as it was given.
func overflows(ctx context.Context, b *grade.Bench) ([]grade.Fault, error) {
	return grade.Shared(ctx, b, "overflows", func(ctx context.Context) ([]grade.Fault, error) {
		for _, c := range []struct {
			given, fiber int
			name         string
			hit          hit
		}{
			{few, 0, "an endless recursion", recursion(0)},
			{few, 2, "a store to the last byte of its guard page", storeBelow(2, func(uint64) uint64 { return 1 })},
			{
				many, many - 2, "a store to the first byte of its guard page",
				storeBelow(many-2, func(page uint64) uint64 { return page }),
			},
		} {
			faults, err := blindFirst(func(blind bool) ([]grade.Fault, error) {
				return overflow(ctx, b, blind, c.given, c.fiber, c.name, c.hit)
			})
			if err != nil || len(faults) > 0 {
				return faults, err
			}
		}
		return nil, nil
	})
}

// blindFirst calls check, and once more where it has found faults: the system calls, which cost time to follow, are of
// interest only then.
func blindFirst(check func(blind bool) ([]grade.Fault, error)) ([]grade.Fault, error) {
	if faults, err := check(true); err != nil || len(faults) == 0 {
		return faults, err
	}
	return check(false)
}

// afterHit watches a program, has hit do something in it, and has use look at how the program stopped.
func afterHit(
	ctx context.Context, b *grade.Bench, blind bool, given int, hit hit,
	use func(context.Context, *watched, machine.Stop) ([]grade.Fault, error),
) (w *watched, faults []grade.Fault, err error) {
	faults, err = in(ctx, b, func(ctx context.Context, plain *world) (faults []grade.Fault, err error) {
		plain.blind = blind
		if w, faults, err = plain.watch(ctx, given); err != nil || faults != nil {
			return faults, err
		}
		stop, err := hit(ctx, w)
		if err != nil {
			return nil, err
		}
		return use(ctx, w, stop)
	})
	return w, faults, err
}

// overflow checks one overflow.
func overflow(
	ctx context.Context, b *grade.Bench, blind bool, given, fiber int, name string, hit hit,
) ([]grade.Fault, error) {
	w, faults, err := afterHit(
		ctx, b, blind, given, hit,
		func(ctx context.Context, w *watched, stop machine.Stop) ([]grade.Fault, error) {
			if stop.Kind != machine.Signalled {
				return []grade.Fault{fault("%s is not noticed by the guard page", name)}, nil
			}
			end, times, err := w.end(ctx, stop)
			if err != nil {
				return nil, err
			}
			if faults := w.allocates(end); faults != nil {
				return faults, nil
			}
			return w.judge(name, end, times), nil
		},
	)
	if err != nil || len(faults) > 0 {
		return faults, err
	}
	said := w.said()
	function, begin := w.handler()
	for i, other := range w.names {
		if i != fiber && strings.Contains(said, other) {
			return []grade.Fault{
				{Text: fmt.Sprintf(
					"for %s of fiber %q, the %s that overflow_watch was given, %s names fiber %q, the %s: %s", name,
					w.names[fiber], w.ordinal(fiber), function, other, w.ordinal(i), quoted(said),
				), Place: begin},
			}, nil
		}
	}
	if !strings.Contains(said, w.names[fiber]) {
		return []grade.Fault{
			{
				Text: fmt.Sprintf(
					"for %s of fiber %q, %s must write a line with that name to standard error, and it writes %s", name,
					w.names[fiber], function, quoted(said),
				),
				Place: begin,
			},
		}, nil
	}
	if apart := w.errors.String(); !strings.Contains(apart, w.names[fiber]) {
		return []grade.Fault{
			{
				Text: fmt.Sprintf(
					"for %s %s writes the fiber's name to standard output (1): "+
						"it must write to standard error (2, STDERR_FILENO)",
					name, function,
				),
				Place: begin,
			},
		}, nil
	}
	if !strings.HasSuffix(said, "\n") {
		return []grade.Fault{
			{
				Text:  fmt.Sprintf("what %s says of an overflow, %s, does not end its line", function, quoted(said)),
				Place: begin,
			},
		}, nil
	}
	return nil, nil
}

func (w *watched) ordinal(i int) string {
	switch last := len(w.fibers) - 2; {
	case i == 0:
		return "first"
	case i < last:
		return fmt.Sprintf("one at index %d", i)
	case i == last:
		return "last"
	}
	return "one behind the last"
}

// judge says what is wrong with the end of a program in which a fiber has overflowed.
func (w *watched) judge(name string, end machine.Stop, times int) []grade.Fault {
	switch {
	case end.Kind == machine.Exited && end.Status == w.status:
		return nil
	case end.Kind == machine.Exited:
		function, begin := w.handler()
		return []grade.Fault{
			{
				Text: fmt.Sprintf(
					"after %s, %s ends the process with exit status %d: overflow_watch was given %d", name, function,
					end.Status, w.status,
				),
				Place: begin,
			},
		}
	}
	stack, handler := w.call("sigaltstack"), w.call("rt_sigaction")
	function, begin := w.handler()
	switch {
	case handler == nil:
		return []grade.Fault{
			fault("after %s the process %s: overflow_watch has set no handler for SIGSEGV (sigaction)", name, end),
		}
	case handler.args[0] != uint64(syscall.SIGSEGV):
		return []grade.Fault{
			{
				Text: fmt.Sprintf(
					"after %s the process %s: overflow_watch sets a handler for signal %d, "+
						"and a guard page raises SIGSEGV (%d)",
					name, end, handler.args[0], syscall.SIGSEGV,
				),
				Place: handler.place,
			},
		}
	case stack == nil:
		return []grade.Fault{
			fault(
				"after %s the process %s: the handler has no stack to run on: "+
					"overflow_watch sets no signal stack (sigaltstack)",
				name, end,
			),
		}
	case stack.args[0] == 0:
		return []grade.Fault{
			{
				Text: fmt.Sprintf(
					"after %s the process %s: the handler has no stack to run on: "+
						"overflow_watch calls sigaltstack without one",
					name, end,
				),
				Place: stack.place,
			},
		}
	}
	switch {
	case handler.flags&flagOnStack == 0:
		return []grade.Fault{
			{
				Text: fmt.Sprintf(
					"after %s the process %s: the handler has no stack to run on: SA_ONSTACK is missing in sa_flags",
					name, end,
				),
				Place: handler.place,
			},
		}
	case handler.flags&flagInfo == 0:
		return []grade.Fault{
			{
				Text: fmt.Sprintf(
					"after %s the process %s: the handler does not get the address that was touched: SA_SIGINFO is "+
						"missing in sa_flags",
					name, end,
				),
				Place: handler.place,
			},
		}
	case times > 1 && end.Kind == machine.Killed:
		return []grade.Fault{
			{
				Text: fmt.Sprintf(
					"after %s the process %s, as if it were no overflow: %s does not end it by _exit, although the "+
						"address is in the guard page, from lo - page up to lo, "+
						"of a fiber that overflow_watch was given",
					name, end, function,
				),
				Place: begin,
			},
		}
	case end.Kind == machine.Signalled:
		return []grade.Fault{
			{
				Text: fmt.Sprintf(
					"after %s SIGSEGV arrives again and again: %s must end the process (_exit)", name, function,
				),
				Place: begin,
			},
		}
	}
	return []grade.Fault{
		{
			Text: fmt.Sprintf(
				"after %s the process %s: %s must end it by _exit with the status that overflow_watch was given, %d",
				name, end, function, w.status,
			),
			Place: begin,
		},
	}
}
