package stacks

import (
	"bytes"
	"context"
	"fmt"

	"fiberlab/labs/grade"
)

// unmaps checks that everything is given back, and that neighbours stay.
func unmaps(ctx context.Context, b *grade.Bench) ([]grade.Fault, error) {
	return in(ctx, b, func(ctx context.Context, w *world) ([]grade.Fault, error) {
		stacks, faults, err := w.mapStacks(
			ctx, 3*w.page, 2*w.page+w.bench.Random.Uint64N(9*w.page), 1+w.bench.Random.Uint64N(w.page), 5*w.page,
		)
		if err != nil || faults != nil {
			return faults, err
		}
		if err := w.failBefore(ctx); err != nil {
			return nil, err
		}
		contents := map[*mapping][]byte{}
		for _, m := range stacks {
			if m.size > 1<<20 {
				return []grade.Fault{{Text: fmt.Sprintf("stack_map(&s, %d) sets s.size to %d", m.asked, m.size)}}, nil
			}
			contents[m] = w.bench.Bytes(int(m.size))
			if err := w.Write(m.lo, contents[m]); err != nil {
				// it is the submission's fault
				return []grade.Fault{
					fault("the usable bytes from s.lo on, s.size of them, are not all mapped"),
				}, nil //nolint:nilerr
			}
		}
		for _, i := range []int{1, 2, 0, 3} {
			m := stacks[i]
			held := w.pages.clone()
			own := w.owned(stacks, i)
			result, calls, err := w.follow(ctx, unmapName, -1, 0, m.at)
			if err != nil {
				return nil, err
			}
			delete(contents, m)
			if faults, err := w.unmapped(m, own, held, result, calls); err != nil || faults != nil {
				return faults, err
			}
			for other, content := range contents {
				now := make([]byte, len(content))
				if err := w.Read(other.lo, now); err != nil || !bytes.Equal(now, content) {
					// as it says
					return []grade.Fault{
						{
							Text:  "stack_unmap changes or unmaps bytes of another stack",
							Place: calledAt(calls, "munmap"),
						},
					}, nil //nolint:nilerr
				}
			}
		}
		return nil, nil
	})
}

// owned returns the pages that came with the i-th of the stacks.
func (w *world) owned(stacks []*mapping, i int) pages {
	after := w.pages
	if i+1 < len(stacks) {
		after = stacks[i+1].before
	}
	own := pages{}
	for _, at := range after.except(stacks[i].before) {
		own[at] = after[at]
	}
	return own
}

// unmapped checks what stack_unmap did to the pages.
func (w *world) unmapped(m *mapping, own, held pages, result uint64, calls []call) ([]grade.Fault, error) {
	place := calledAt(calls, "munmap")
	if result != 0 {
		return []grade.Fault{
			{
				Text: fmt.Sprintf(
					"stack_unmap returns %s for a stack of %d bytes: it must return 0", errno(result), m.size,
				),
				Place: place,
			},
		}, nil
	}
	left, guard, usable := 0, false, false
	for at := range own {
		if prot, there := w.pages[at]; there && prot != gone {
			left++
			guard = guard || at < m.lo
			usable = usable || at >= m.lo
		}
	}
	switch {
	case left == len(own):
		return []grade.Fault{
			{
				Text:  fmt.Sprintf("stack_unmap returns 0 and has unmapped nothing: %s stay mapped", w.bytes(left)),
				Place: place,
			},
		}, nil
	case guard && !usable:
		return []grade.Fault{
			{Text: "stack_unmap leaves the guard page mapped: it begins a page below s.lo", Place: place},
		}, nil
	case left > 0:
		return []grade.Fault{
			{
				Text: fmt.Sprintf(
					"stack_unmap leaves %s of the stack mapped: the guard page and the stack are %s", w.bytes(left),
					w.bytes(len(own)),
				),
				Place: place,
			},
		}, nil
	}
	for _, c := range calls {
		if c.name != "munmap" || c.failed() {
			continue
		}
		for at := c.args[0] &^ (w.page - 1); at < c.args[0]+c.args[1] && c.args[1] < 1<<30; at += w.page {
			if _, ours := own[at]; ours {
				continue
			}
			text := fmt.Sprintf(
				"stack_unmap unmaps %#x, a page that is not of this stack, [%#x, %#x)", at, m.lo-w.page, m.end(),
			)
			if _, others := held[at]; others {
				text += ", but of its neighbour"
			}
			return []grade.Fault{{Text: text, Place: c.place}}, nil
		}
	}
	return nil, nil
}
