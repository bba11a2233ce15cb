package stacks

import (
	"bytes"
	"context"
	"fmt"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// guards checks that the page below each stack cannot be touched, and that an overflow leaves the neighbours alone.
func guards(ctx context.Context, b *grade.Bench) ([]grade.Fault, error) {
	return in(ctx, b, func(ctx context.Context, w *world) ([]grade.Fault, error) {
		stacks, faults, err := w.mapStacks(ctx, 2*w.page, 3*w.page+w.bench.Random.Uint64N(9*w.page), w.page)
		if err != nil || faults != nil {
			return faults, err
		}
		contents := make([][]byte, len(stacks))
		for i, m := range stacks {
			if m.size == 0 || m.size > 1<<20 {
				return []grade.Fault{
					{Text: fmt.Sprintf("stack_map(&s, %d) sets s.size to %d", m.asked, m.size), Section: "4.2"},
				}, nil
			}
			contents[i] = w.bench.Bytes(int(m.size))
			if err := w.Write(m.lo, contents[i]); err != nil {
				// it is the submission's fault
				return []grade.Fault{
					{Text: "the usable bytes from s.lo on, s.size of them, are not all mapped", Section: "4.2"},
				}, nil //nolint:nilerr
			}
		}
		for _, m := range stacks {
			if faults, err := w.guard(ctx, m); err != nil || faults != nil {
				return faults, err
			}
		}
		for i, m := range stacks {
			if faults, err := w.overrun(ctx, m); err != nil || faults != nil {
				return faults, err
			}
			for j, other := range stacks {
				now := make([]byte, other.size)
				if err := w.Read(other.lo, now); err != nil {
					return nil, err
				}
				if j != i && !bytes.Equal(now, contents[j]) {
					return []grade.Fault{fault("an endless recursion on one stack overwrites another one")}, nil
				}
				contents[j] = now
			}
		}
		return nil, nil
	})
}

// guard tries out the page below a stack.
func (w *world) guard(ctx context.Context, m *mapping) ([]grade.Fault, error) {
	for _, below := range []uint64{1, 1 + w.bench.Random.Uint64N(w.page-1), w.page} {
		load, err := w.canLoad(ctx, m.lo-below)
		if err != nil {
			return nil, err
		}
		store := false
		if !load {
			store, err = w.canStore(ctx, m.lo-below)
		}
		if err != nil {
			return nil, err
		}
		if !load && !store {
			continue
		}
		text := fmt.Sprintf("the byte %d below s.lo can be touched", below)
		switch _, there := w.pages[(m.lo-1)&^(w.page-1)]; {
		case !there:
			text += ": what lies below the stack is no guard page, but memory of others"
		case calledAt(m.calls, "mprotect", "madvise") == machine.Place{}:
			text += ": nothing that stack_map does makes the page below the stack a guard page"
		default:
			text += ": the page below the stack, from s.lo - " + fmt.Sprint(w.page) + " on, must be a guard page"
		}
		return []grade.Fault{{Text: text, Place: calledAt(m.calls, "mmap", "mprotect", "madvise")}}, nil
	}
	// A byte that is not mapped cannot be touched either, until a later call maps it.
	if prot, there := w.pages[m.lo-w.page]; !w.blind && (!there || prot == gone) {
		return []grade.Fault{
			{
				Text: "the page below the stack is not mapped: nothing keeps the kernel from placing the next " +
					"mapping there, so it is no guard page",
				Place: calledAt(m.calls, "mmap"),
			},
		}, nil
	}
	return nil, nil
}

// guardSize returns how many bytes below a stack cannot be touched:
// a page, or more if the submission has a larger guard.
func guardSize(ctx context.Context, b *grade.Bench) (uint64, error) {
	return grade.Shared(ctx, b, "guard", func(ctx context.Context) (size uint64, err error) {
		_, err = in(ctx, b, func(ctx context.Context, w *world) ([]grade.Fault, error) {
			size = w.page
			stacks, faults, err := w.mapStacks(ctx, w.page)
			if err != nil || faults != nil {
				return faults, err
			}
			for own := w.owned(stacks, 0); ; size += w.page {
				if prot, there := own[stacks[0].lo-size-w.page]; !there || prot != 0 {
					return nil, nil
				}
			}
		})
		return size, err
	})
}

// overrun has a function call itself on the stack until it runs out.
func (w *world) overrun(ctx context.Context, m *mapping) ([]grade.Fault, error) {
	if err := w.onStack(w.Symbol("lab_recurse"), m.end()&^15); err != nil {
		return nil, err
	}
	stop, err := w.Run(ctx, w.back())
	if err != nil {
		return nil, err
	}
	regs, err := w.Registers()
	if err != nil {
		return nil, err
	}
	if stop.Kind != machine.Signalled || regs.SP() < m.lo-w.page || regs.SP() > m.lo+16 {
		return []grade.Fault{
			fault("an endless recursion on a stack of %d bytes ends with %s at %#x, not in the guard page, [%#x, %#x)",
				m.size, w.Arch().SP, regs.SP(), m.lo-w.page, m.lo),
		}, nil
	}
	return nil, nil
}
