package swap

import (
	"context"
	"errors"
	"fmt"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
	"fiberlab/labs/record"
)

// Sizes in bytes.
const (
	stackSize   = 4096
	margin      = 128      // of random bytes on either side of a context, which nothing may change
	biggest     = 16 << 10 // a context that is bigger is a mistake
	frameOffset = 1024     // how far below the top of its stack a fiber stands when it swaps
)

// fiber is one of the fibers that the examination switches between: a context and a stack in the memory of the
// submission's program.
type fiber struct {
	name    string
	context uint64
	stack   uint64 // its lowest address
	// bytes at its top that the submission is not given, so that the end of what it is given is no multiple of 16
	spare uint64
	back  uint64   // where its swap is to return to
	body  uint64   // what a fresh fiber enters
	args  []uint64 // what a fresh fiber's body gets

	suspended machine.Registers // as they were when it called the swap
	sp        uint64            // as it is to be after the swap
	left      uint64            // the stack pointer, when it was last in the stack before another swap; 0: it was not

	spilled []grade.Fault // what its preparation has overwritten
}

// world is a session with fibers.
type world struct {
	*grade.Session
	subject Subject
	bench   *grade.Bench
	size    int // of a context
	fiber   []*fiber
}

// newWorld makes n fibers. None has been prepared.
func newWorld(ctx context.Context, b *grade.Bench, subject Subject, n int) (*world, error) {
	s, err := b.Start(ctx)
	if err != nil {
		return nil, err
	}
	w := &world{Session: s, subject: subject, bench: b}
	if err := w.populate(n); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return w, nil
}

func (w *world) populate(n int) error {
	size, err := w.Word(w.Symbol(w.subject.Size))
	if err != nil {
		return err
	}
	if size == 0 || size > biggest {
		return &grade.Trouble{
			Doing: w.subject.Size, What: fmt.Sprintf("is %d: it is the size of a context in bytes", size),
		}
	}
	w.size = int(size)
	for i := range n {
		f := &fiber{name: string(rune('A' + i)), back: w.Place(2 * i), body: w.Place(2*i + 1), spare: uint64(8 - i%8)}
		for range w.subject.Arguments {
			f.args = append(f.args, w.bench.Word())
		}
		at, err := w.Alloc(margin+w.size+margin, 64)
		if err != nil {
			return err
		}
		f.context = at + margin
		if f.stack, err = w.Alloc(stackSize, 16); err != nil {
			return err
		}
		w.fiber = append(w.fiber, f)
	}
	return nil
}

// prepare has the submission prepare a fresh fiber.
func (w *world) prepare(ctx context.Context, f *fiber) error {
	arg := f.args[0]
	if len(f.args) > 1 {
		words, err := w.Alloc(8*len(f.args), 8)
		if err != nil {
			return err
		}
		for i, a := range f.args {
			if err := w.SetWord(words+8*uint64(i), a); err != nil {
				return err
			}
		}
		arg = words
	}
	before, err := w.around(f)
	if err != nil {
		return err
	}
	if _, err := w.Call(ctx, w.subject.Prepare, f.context, f.stack, stackSize-f.spare, f.body, arg); err != nil {
		return err
	}
	after, err := w.around(f)
	f.spilled = w.spilled(f, before, after)
	return err
}

// regions are watched in the switch from one fiber to another. They stand in the order of the constants.
func (w *world) regions(from, to *fiber) []record.Region {
	region := func(name string, at uint64, size int, stack bool) record.Region {
		return record.Region{Name: name, Address: record.Word(at), Initial: make([]byte, size), Stack: stack}
	}
	return []record.Region{
		contextFrom: region("context of "+from.name, from.context, w.size, false),
		contextTo:   region("context of "+to.name, to.context, w.size, false),
		stackFrom:   region("stack of "+from.name, from.stack, stackSize, true),
		stackTo:     region("stack of "+to.name, to.stack, stackSize, true),
		afterFrom:   region("memory after the context of "+from.name, from.context+uint64(w.size), margin, false),
		beforeFrom:  region("memory before the context of "+from.name, from.context-margin, margin, false),
	}
}

const (
	contextFrom = iota
	contextTo
	stackFrom
	stackTo
	afterFrom
	beforeFrom
)

// depart sets the registers so that from calls the swap to to, with values in all registers that are drawn for it.
func (w *world) depart(from, to *fiber) error {
	now, err := w.Registers()
	if err != nil {
		return err
	}
	a := w.Arch()
	for _, name := range a.Registers {
		switch name {
		case a.PC, a.SP, "eflags", "nzcv", "mxcsr", "x87cw", "fpcr":
		default:
			now.Set(name, w.bench.Word())
		}
	}
	for _, c := range a.Control {
		c.Draw(now, w.bench.Random.Uint64())
	}
	sp := from.stack + stackSize - frameOffset - 16*w.bench.Random.Uint64N(32)
	from.suspended, err = w.Enter(now, w.Symbol(w.subject.Swap), sp, from.back, from.context, to.context)
	from.sp = sp
	return err
}

// destinations are all places where some fiber goes on.
func (w *world) destinations() []uint64 {
	var all []uint64
	for _, f := range w.fiber {
		all = append(all, f.back, f.body)
	}
	return all
}

// swap has from call the swap to to, and records until the program is where some fiber goes on.
func (w *world) swap(ctx context.Context, from, to *fiber) (*leg, error) {
	l := &leg{arch: w.Arch(), subject: w.subject, size: w.size, from: from, to: to, toSP: to.sp}
	if err := w.depart(from, to); err != nil {
		return nil, err
	}
	l.departed, l.fromSP = from.suspended, from.sp
	var err error
	l.recording, err = w.Record(ctx, w.subject.Swap, w.regions(from, to), w.destinations()...)
	if !errors.As(err, &l.trouble) && err != nil {
		return nil, err
	}
	w.followEnd(l)
	l.followStack()
	if l.after, err = w.Registers(); err != nil && !errors.Is(err, machine.ErrEnded) {
		return nil, err
	}
	return l, nil
}

// leg is one recorded switch.
type leg struct {
	subject   Subject
	arch      *machine.Arch
	size      int // of a context
	recording *record.Recording
	from, to  *fiber
	trouble   *grade.Trouble    // what happened in place of an arrival
	after     machine.Registers // at the arrival
	departed  machine.Registers // of from, as it called the swap
	fromSP    uint64            // what from's stack pointer is to be when it goes on
	toSP      uint64            // what to's was to be
	// the stack pointer when it was last in the stacks of from and to, as far as to has run before
	left [2]uint64
	past string // if the swap has run on past its last instruction: a sentence that says so
}

// arrived reports whether the switch has led to that address.
func (l *leg) arrived(at uint64) bool { return l.trouble == nil && l.after.PC() == at }

// followEnd looks whether the swap has run on past its last instruction. A jump to what lies behind the swap is none.
func (w *world) followEnd(l *leg) {
	swap, err := w.Program.Symbol(w.subject.Swap)
	if err != nil || swap.Size == 0 {
		return
	}
	end := swap.Address + swap.Size
	for _, step := range l.recording.Steps {
		if pc := uint64(step.PC); pc >= swap.Address && pc < end && uint64(step.Next) == end && !step.Jumps() {
			l.past = fmt.Sprintf(
				"no instruction jumps to the return address, so that the swap runs on past its end%s", in(step.Place),
			)
			return
		}
	}
}

// end says how a swap ended the program.
func (w *world) end(l *leg) (string, machine.Place) {
	if l.past != "" && len(l.recording.Steps) > 0 {
		return l.past + ", and " + l.trouble.What, l.trouble.Place
	}
	return l.trouble.What, l.trouble.Place
}
