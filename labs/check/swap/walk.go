package swap

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// What walk does.
const (
	walkers = 4
	swaps   = 64
)

// walk switches between several fibers at random, at full speed, and examines after each swap whether the fiber that
// goes on has all that it had.
func walk(ctx context.Context, b *grade.Bench, subject Subject) (faults []grade.Fault, err error) {
	if err := subject.Borrows(ctx, b); err != nil {
		return nil, err
	}
	w, err := newWorld(ctx, b, subject, walkers)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for _, f := range w.fiber[1:] {
		if err := w.prepare(ctx, f); err != nil {
			return nil, err
		}
	}
	begun := map[*fiber]bool{w.fiber[0]: true}
	from := w.fiber[0]
	for i := range swaps {
		to := w.fiber[b.Random.IntN(walkers)]
		if to == from {
			continue
		}
		where := fmt.Sprintf("swap %d, from fiber %s to %s: ", i+1, from.name, to.name)
		at := to.back
		if !begun[to] {
			at = to.body
		}
		after, err := w.hasten(ctx, from, to)
		var trouble *grade.Trouble
		if errors.As(err, &trouble) {
			return []grade.Fault{{Text: where + trouble.Error(), Place: trouble.Place}}, nil
		}
		if err != nil {
			return nil, err
		}
		if after.PC() != at {
			return []grade.Fault{{Text: where + "the fiber does not go on where it was"}}, nil
		}
		if !begun[to] {
			for i, wanted := range to.args {
				if got := after.Get(w.Arch().Arguments[i]); got != wanted {
					return []grade.Fault{
						{
							Text: fmt.Sprintf(
								"%sthe body gets a wrong argument in %s%s: keep each fiber's argument in its context "+
									"or on its stack",
								where, w.Arch().Arguments[i], w.preparedFor(got),
							),
						},
					}, nil
				}
			}
		} else {
			if after.SP() != to.sp {
				return []grade.Fault{{Text: where + w.Arch().SP + " comes back changed"}}, nil
			}
			for _, name := range w.Arch().Saved {
				if after.Get(name) != to.suspended.Get(name) {
					return []grade.Fault{{Text: where + name + " comes back changed"}}, nil
				}
			}
		}
		begun[to] = true
		from = to
	}
	return nil, nil
}

// preparedFor says for which fiber an argument was.
func (w *world) preparedFor(arg uint64) string {
	for _, f := range w.fiber {
		if slices.Contains(f.args, arg) {
			return ", that of fiber " + f.name
		}
	}
	return ""
}

// hasten has from swap to to without a recording, and returns the registers at the arrival.
func (w *world) hasten(ctx context.Context, from, to *fiber) (machine.Registers, error) {
	if err := w.depart(from, to); err != nil {
		return machine.Registers{}, err
	}
	if err := w.Arrive(ctx, w.subject.Swap, w.destinations()...); err != nil {
		return machine.Registers{}, err
	}
	return w.Registers()
}
