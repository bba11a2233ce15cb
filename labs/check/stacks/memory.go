package stacks

import (
	"context"
	"fmt"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// mapping is a stack that the submission has mapped.
type mapping struct {
	at       uint64 // of its struct stack
	asked    uint64 // bytes
	lo, size uint64 // as the submission says
	before   pages  // before it was mapped
	calls    []call
}

// end is the address after the highest usable byte.
func (m *mapping) end() uint64 { return m.lo + m.size }

// newStruct makes a struct stack with random bytes in it.
func (w *world) newStruct() (uint64, error) { return w.Alloc(16, 16) }

// mapStack calls stack_map at the struct stack at. If it does not give a stack, there is a fault that says so.
func (w *world) mapStack(ctx context.Context, at, size uint64) (*mapping, []grade.Fault, error) {
	m := &mapping{at: at, asked: size, before: w.pages.clone()}
	result, calls, err := w.follow(ctx, mapName, -1, 0, at, size)
	m.calls = calls
	if err != nil {
		return nil, nil, err
	}
	if result != 0 {
		return nil, []grade.Fault{
			{
				Text: fmt.Sprintf(
					"stack_map(&s, %d) returns %s: it must map a stack and return 0", size, errno(result),
				),
				Section: "4.2",
			},
		}, nil
	}
	if m.lo, err = w.Word(at); err == nil {
		m.size, err = w.Word(at + 8)
	}
	if err != nil {
		return nil, nil, err
	}
	if w.blind {
		return m, nil, nil
	}
	if w.pages[m.lo&^(w.page-1)] == gone || len(w.pages.except(m.before)) == 0 {
		return nil, []grade.Fault{
			fault("stack_map(&s, %d) returns 0 and has mapped no memory: each stack comes from mmap", size),
		}, nil
	}
	if _, there := w.pages[m.lo&^(w.page-1)]; !there {
		return nil, []grade.Fault{
			fault("stack_map(&s, %d) sets s.lo to %#x, which is not in the memory that it has mapped", size, m.lo),
		}, nil
	}
	return m, nil, nil
}

// failBefore has a system call of the submission fail, so that errno is not 0:
// it says nothing about calls that succeed later.
func (w *world) failBefore(ctx context.Context) error {
	at, err := w.newStruct()
	if err == nil {
		_, _, err = w.follow(ctx, mapName, -1, 0, at, 1<<60)
	}
	return err
}

// mapStacks maps stacks of those sizes.
func (w *world) mapStacks(ctx context.Context, sizes ...uint64) ([]*mapping, []grade.Fault, error) {
	var stacks []*mapping
	for _, size := range sizes {
		at, err := w.newStruct()
		if err != nil {
			return nil, nil, err
		}
		m, faults, err := w.mapStack(ctx, at, size)
		if err != nil || faults != nil {
			return nil, faults, err
		}
		stacks = append(stacks, m)
	}
	return stacks, nil, nil
}

// sizes checks what stack_map gives.
func sizes(ctx context.Context, b *grade.Bench) ([]grade.Fault, error) {
	return in(ctx, b, func(ctx context.Context, w *world) ([]grade.Fault, error) {
		asked := []uint64{
			1, w.page - 1, w.page, w.page + 1, 2*w.page + 2 + w.bench.Random.Uint64N(w.page-2), 16 * w.page,
			64<<10 + w.bench.Random.Uint64N(256<<10),
		}
		for _, size := range asked {
			stacks, faults, err := w.mapStacks(ctx, size)
			if err != nil || faults != nil {
				return faults, err
			}
			if faults, err := w.size(ctx, stacks[0]); err != nil || faults != nil {
				return faults, err
			}
		}
		return nil, nil
	})
}

// size checks one stack.
func (w *world) size(ctx context.Context, m *mapping) ([]grade.Fault, error) {
	want := w.round(m.asked)
	if m.size != want {
		return []grade.Fault{
			fault(
				"stack_map(&s, %d) sets s.size to %d: %d rounded up to whole pages of %d is %d", m.asked, m.size,
				m.asked, w.page, want,
			),
		}, nil
	}
	if m.lo%w.page != 0 {
		return []grade.Fault{
			fault(
				"stack_map(&s, %d) sets s.lo to %#x, which is in the middle of a page: the lowest usable byte is the "+
					"first after the guard page",
				m.asked, m.lo,
			),
		}, nil
	}
	for _, at := range []struct {
		name string
		addr uint64
	}{{"the first usable byte, s.lo", m.lo}, {"the last usable byte, s.lo + s.size - 1", m.end() - 1},
		{"a usable byte", m.lo + w.bench.Random.Uint64N(m.size)}} {
		load, err := w.canLoad(ctx, at.addr)
		if err != nil {
			return nil, err
		}
		store, err := w.canStore(ctx, at.addr)
		if err != nil {
			return nil, err
		}
		if !load || !store {
			return []grade.Fault{
				fault("after stack_map(&s, %d), %s, cannot be read and written", m.asked, at.name),
			}, nil
		}
	}
	fresh := w.pages.except(m.before)
	for _, at := range fresh {
		usable := at >= m.lo && at < m.end()
		if usable && w.pages[at]&protExec != 0 {
			return []grade.Fault{
				{
					Text:  "the stack is executable (PROT_EXEC): a stack holds no code",
					Place: calledAt(m.calls, "mmap", "mprotect"),
				},
			}, nil
		}
	}
	if beside := w.beside(m, fresh); beside > 0 {
		return []grade.Fault{
			{
				Text: fmt.Sprintf(
					"stack_map(&s, %d) maps %s beside the %d of the stack that can be touched: "+
						"only guard pages may lie there",
					m.asked, w.bytes(beside), want,
				),
				Place: calledAt(m.calls, "mmap", "mprotect"),
			},
		}, nil
	}
	for _, c := range m.calls {
		if c.stray {
			return []grade.Fault{
				{
					Text: fmt.Sprintf(
						"stack_map asks for the address %#x (MAP_FIXED): a mapping of others that lies there is "+
							"lost, or stack_map fails; the kernel knows what is free",
						c.args[0],
					),
					Place: c.place,
				},
			}, nil
		}
		if c.name == "mmap" && c.args[3]&mapShared != 0 {
			return []grade.Fault{
				{
					Text:  "the stack is mapped MAP_SHARED: after a fork two processes would run on one stack",
					Place: c.place,
				},
			}, nil
		}
	}
	return nil, nil
}

// beside counts the pages outside of the stack that came with it and can be touched. The page below the stack is
// another question.
func (w *world) beside(m *mapping, fresh []uint64) int {
	count := 0
	for _, at := range fresh {
		if outside := at < m.lo-w.page || at >= m.end(); outside && w.pages[at] != 0 {
			count++
		}
	}
	return count
}

// calledAt returns the place of the last of the calls with one of those names.
func calledAt(calls []call, names ...string) machine.Place {
	var place machine.Place
	for _, c := range calls {
		for _, name := range names {
			if c.name == name {
				place = c.place
			}
		}
	}
	return place
}
