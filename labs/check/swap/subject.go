package swap

import (
	"context"
	"errors"

	"fiberlab/labs/grade"
)

// Subject names the functions of a submission that are examined. All of them are C functions.
type Subject struct {
	Swap string // void Swap(context *from, const context *to)
	Size string // const size_t Size: of a context, in bytes
	// Prepare makes a context that enters a function on a stack: void Prepare(context *, void *stack, size_t size,
	// function, arg), where arg is the function's argument. With several Arguments, it is the address of as many words.
	Prepare   string
	Arguments int      // of the function that a fresh context enters
	Control   []string // the control registers that a switch keeps for each fiber; see control
	Returns   bool     // whether Swap is an int function that returns 0
	Library   []string // functions of the C library that do the same: Swap may not run them
}

// Entry examines how a fresh context is entered.
func (s Subject) Entry(points int, section string) grade.Item {
	return s.item("a fresh fiber is entered", points, section, (*trip).enters)
}

// Registers has an item for each of these registers, which a call must preserve, and shares the points among them.
func (s Subject) Registers(names []string, points int, section string) []grade.Item {
	var items []grade.Item
	for i, name := range names {
		share := (i+1)*points/len(names) - i*points/len(names)
		items = append(
			items, s.item(name+" comes back", share, section, func(t *trip) []grade.Fault { return t.register(name) }),
		)
	}
	return items
}

// StackPointer examines the stack pointer of a fiber that goes on.
func (s Subject) StackPointer(points int, section string) grade.Item {
	return s.item("the stack pointer comes back", points, section, (*trip).stackPointer)
}

// Arrivals examines where a fiber goes on.
func (s Subject) Arrivals(points int, section string) grade.Item {
	return s.item("the swap returns to its caller", points, section, (*trip).arrivals)
}

// ControlWords examines the control registers.
func (s Subject) ControlWords(points int, section string) grade.Item {
	return s.item("the control words come back", points, section, (*trip).controlWords)
}

// NoSystemCalls examines that a swap makes none.
func (s Subject) NoSystemCalls(points int, section string) grade.Item {
	return s.item("no system call", points, section, (*trip).systemCalls)
}

// Others examines what else changes.
func (s Subject) Others(points int, section string) grade.Item {
	return s.item("nothing else changes", points, section, (*trip).others)
}

// Walk examines many swaps between several fibers.
func (s Subject) Walk(points int, section string) grade.Item {
	return grade.Item{Name: "many fibers, many swaps", Points: points, Section: section,
		Check: func(ctx context.Context, b *grade.Bench) ([]grade.Fault, error) { return walk(ctx, b, s) }}
}

// item asks a question about the recorded swaps, which all items share.
func (s Subject) item(name string, points int, section string, question func(*trip) []grade.Fault) grade.Item {
	return grade.Item{Name: name, Points: points, Section: section,
		Check: func(ctx context.Context, b *grade.Bench) ([]grade.Fault, error) {
			t, err := s.trip(ctx, b)
			if err != nil {
				return nil, err
			}
			return question(t), nil
		}}
}

// trip returns the recorded swaps.
func (s Subject) trip(ctx context.Context, b *grade.Bench) (*trip, error) {
	return grade.Shared(ctx, b, "swaps", func(ctx context.Context) (t *trip, err error) {
		w, err := newWorld(ctx, b, s, 2)
		if err != nil {
			return nil, err
		}
		t = &trip{world: w}
		return t, errors.Join(t.travel(ctx), w.Close())
	})
}
