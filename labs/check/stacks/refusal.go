package stacks

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"syscall"

	"fiberlab/labs/grade"
)

// impossible checks the sizes for which there is no stack.
func impossible(ctx context.Context, b *grade.Bench) ([]grade.Fault, error) {
	return in(ctx, b, func(ctx context.Context, w *world) ([]grade.Fault, error) {
		if _, faults, err := w.mapStacks(ctx, w.page); err != nil || faults != nil {
			return faults, err
		}
		for _, c := range []struct {
			size uint64
			name string
			want syscall.Errno
			why  string
		}{
			{0, "0", syscall.EINVAL, "a stack of no bytes is a mistake of the caller"},
			{1 << 60, "1 << 60", syscall.ENOMEM, "no address space has so many bytes"},
			{math.MaxUint64, "SIZE_MAX", syscall.ENOMEM, "rounded up it would be 0"},
			{math.MaxUint64 - w.page, "SIZE_MAX - page", syscall.ENOMEM, "with the guard page it would be 0"},
			{math.MaxUint64 - w.page + 1, "SIZE_MAX - page + 1", syscall.ENOMEM, "with the guard page it would be 0"},
			{math.MaxUint64 - 2*w.page + 2, "SIZE_MAX - 2 * page + 2", syscall.ENOMEM, "with the guard " +
				"page it would be 0"},
			{math.MaxUint64 - w.bench.Random.Uint64N(2*w.page), "nearly SIZE_MAX", syscall.ENOMEM, "rounded up, or " +
				"with the guard page, it would be small"},
		} {
			call := "stack_map(&s, " + c.name + ")"
			if faults, err := w.refused(ctx, call, c.size, c.want, c.why); err != nil || faults != nil {
				return faults, err
			}
		}
		return nil, nil
	})
}

// refused checks that there is no stack of that size.
func (w *world) refused(
	ctx context.Context, call string, size uint64, want syscall.Errno, why string,
) ([]grade.Fault, error) {
	a, err := w.attempt(ctx, -1, 0, size)
	if err != nil {
		return nil, err
	}
	if a.result != uint64(want) {
		return []grade.Fault{
			{
				Text: fmt.Sprintf(
					"%s returns %s: it must return %s, since %s", call, errno(a.result), errno(uint64(want)), why,
				),
				Place: calledAt(a.calls, "mmap"),
			},
		}, nil
	}
	return w.unchanged(call+" returns an error", a)
}

// attempt is a call of stack_map that is to fail, and what was there before.
type attempt struct {
	at     uint64 // of the struct stack
	was    []byte // what it held
	before pages
	result uint64
	calls  []call
}

// attempt calls stack_map for a new struct stack. It takes the arguments that follow takes.
func (w *world) attempt(ctx context.Context, refused int, why syscall.Errno, size uint64) (*attempt, error) {
	at, err := w.newStruct()
	if err != nil {
		return nil, err
	}
	a := &attempt{at: at, was: make([]byte, 16), before: w.pages.clone()}
	if err := w.Read(at, a.was); err != nil {
		return nil, err
	}
	a.result, a.calls, err = w.follow(ctx, mapName, refused, why, at, size)
	return a, err
}

// unchanged checks that a stack_map that failed has left nothing behind.
func (w *world) unchanged(what string, a *attempt) ([]grade.Fault, error) {
	if left := w.pages.except(a.before); len(left) > 0 {
		return []grade.Fault{
			{Text: fmt.Sprintf("%s and leaves %s mapped", what, w.bytes(len(left))), Place: calledAt(a.calls, "mmap")},
		}, nil
	}
	now := make([]byte, 16)
	if err := w.Read(a.at, now); err != nil {
		return nil, err
	}
	if !bytes.Equal(a.was, now) {
		return []grade.Fault{fault("%s and has changed s", what)}, nil
	}
	return nil, nil
}

// refusals checks what comes of errors of the kernel: each system call of stack_map and stack_unmap that concerns
// memory fails once.
func refusals(ctx context.Context, b *grade.Bench) ([]grade.Fault, error) {
	return in(ctx, b, func(ctx context.Context, w *world) ([]grade.Fault, error) {
		stacks, faults, err := w.mapStacks(ctx, w.page)
		if err != nil || faults != nil {
			return faults, err
		}
		for refused, made := range stacks[0].calls {
			for _, why := range []syscall.Errno{syscall.ENOMEM, syscall.EAGAIN} {
				a, err := w.attempt(ctx, refused, why, 3*w.page)
				if err != nil {
					return nil, err
				}
				if a.result != uint64(why) {
					return []grade.Fault{
						{
							Text: fmt.Sprintf(
								"%s fails with %s, and stack_map returns %s", made.name, errno(uint64(why)),
								errno(a.result),
							),
							Place: made.place,
						},
					}, nil
				}
				if faults, err := w.unchanged(fmt.Sprintf("%s fails, and stack_map returns an error", made.name), a); err != nil ||
					faults != nil {
					return faults, err
				}
			}
		}
		for _, why := range []syscall.Errno{syscall.ENOMEM, syscall.EAGAIN} {
			result, calls, err := w.follow(ctx, unmapName, 0, why, stacks[0].at)
			if err != nil {
				return nil, err
			}
			if len(calls) > 0 && result != uint64(why) {
				return []grade.Fault{
					{
						Text: fmt.Sprintf(
							"%s fails with %s, and stack_unmap returns %s", calls[0].name, errno(uint64(why)),
							errno(result),
						),
						Place: calls[0].place,
					},
				}, nil
			}
		}
		return nil, nil
	})
}
