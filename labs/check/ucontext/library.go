package ucontext

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
	"fiberlab/labs/record"
)

// What the harness and the C library define.
const (
	linkedName = "lab_makecontext_linked"
	maskName   = "lab_empty_mask"
	addName    = "lab_add_by_x87"
	getName    = "getcontext"
)

const (
	stackSize = 16 << 10
	below     = 1 << 10 // how far below the top of its stack a fiber stands when it calls
	fpregs    = 224     // on amd64, the offset of the address of the floating-point state
	fphead    = 464     // on arm64, the offset of the head of the floating-point state
	fpmagic   = 0x46508001
)

// offsets are those at which the C library keeps what a call preserves.
var offsets = map[*machine.Arch]map[string]int{
	machine.AMD64: {"r12": 72, "r13": 80, "r14": 88, "r15": 96, "rbp": 120, "rbx": 128, "rsp": 160, "rip": 168,
		"x87cw": 424, "mxcsr": 448},
	machine.ARM64: arm64Offsets(),
}

func arm64Offsets() map[string]int {
	all := map[string]int{"sp": 432, "pc": 440, "fpcr": 476}
	for i := 19; i <= 30; i++ {
		all[fmt.Sprintf("x%d", i)] = 184 + 8*i
	}
	for i := 8; i <= 15; i++ {
		all[fmt.Sprintf("d%d", i)] = 480 + 16*i
	}
	return all
}

// party is one of the two that switch: a context, a stack, and where it goes on.
type party struct {
	context, stack, back uint64
	was                  machine.Registers // when it called
	sp                   uint64            // as it is to be when it goes on
}

// world is a program in which contexts of the submission's function meet the library.
type world struct {
	*grade.Session
	bench *grade.Bench
	size  int // of a context
	a, b  *party
}

// in makes a world, has use examine it, and ends it.
func in(ctx context.Context, b *grade.Bench,
	use func(context.Context, *world) ([]grade.Fault, error)) (faults []grade.Fault, err error) {
	w := &world{bench: b}
	if err := subject(b.Program.Arch).Borrows(ctx, b); err != nil {
		return nil, err
	}
	if w.Session, err = b.Start(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	size, err := w.Word(w.Symbol(sizeName))
	if err != nil {
		return nil, err
	}
	w.size = int(size)
	for i, p := range []**party{&w.a, &w.b} {
		*p = &party{back: w.Place(i)}
		if (*p).context, err = w.Alloc(w.size, 64); err != nil {
			return nil, err
		}
		if (*p).stack, err = w.Alloc(stackSize, 16); err != nil {
			return nil, err
		}
	}
	return use(ctx, w)
}

// call has a party enter a function, with values in all registers that are drawn for it.
func (w *world) call(p *party, function string, args ...uint64) error {
	now, err := w.Registers()
	if err != nil {
		return err
	}
	w.draw(now, w.Arch().Registers)
	for _, c := range w.Arch().Control {
		c.Draw(now, w.bench.Random.Uint64())
	}
	p.sp = p.stack + stackSize - below - 16*w.bench.Random.Uint64N(32)
	p.was, err = w.Enter(now, w.Symbol(function), p.sp, p.back, args...)
	return err
}

// draw sets each of the named registers that may have any value.
func (w *world) draw(regs machine.Registers, names []string) {
	a := w.Arch()
	for _, name := range names {
		special := name == a.PC || name == a.SP || name == "eflags" || name == "nzcv"
		if !special && !slices.ContainsFunc(a.Control, func(c machine.Control) bool { return c.Name == name }) {
			regs.Set(name, w.bench.Word())
		}
	}
}

// changed compares the registers of a party that goes on with its registers before. The function to has loaded them,
// from what the function from has saved.
func (w *world) changed(
	p *party, to, from string, explain func(register string, value uint64) string,
) ([]grade.Fault, error) {
	now, err := w.Registers()
	if err != nil {
		return nil, err
	}
	a := w.Arch()
	check := func(name string, want, got uint64) []grade.Fault {
		if want == got {
			return nil
		}
		return []grade.Fault{{Text: fmt.Sprintf("%s comes back changed when %s resumes what %s has saved%s",
			name, to, from, explain(name, want))}}
	}
	faults := check(a.SP, p.sp, now.SP())
	for _, name := range a.Saved {
		faults = append(faults, check(name, p.was.Get(name), now.Get(name))...)
	}
	for _, c := range a.Control {
		faults = append(faults, check(c.Name, p.was.Get(c.Name)&c.Bits, now.Get(c.Name)&c.Bits)...)
	}
	if result := now.Get(a.Result); uint32(result) != 0 {
		faults = append(faults, grade.Fault{Text: fmt.Sprintf(
			"the call returns %#x in %s when %s resumes what %s has saved: it is to return 0", result, a.Result, to,
			from,
		)})
	}
	return faults, nil
}

// follows examines that the library can go on with what the submission has saved: a function returns, and its context
// has a uc_link.
func follows(ctx context.Context, b *grade.Bench) ([]grade.Fault, error) {
	return in(ctx, b, func(ctx context.Context, w *world) ([]grade.Fault, error) {
		body := w.Place(2)
		if _, err := w.Call(ctx, maskName, w.a.context); err != nil {
			return nil, err
		}
		if _, err := w.Call(ctx, linkedName, w.b.context, w.b.stack, stackSize, body, w.a.context); err != nil {
			return nil, err
		}
		if err := w.call(w.a, swapName, w.a.context, w.b.context); err != nil {
			return nil, err
		}
		left := record.Region{
			Name: "the context that is left", Address: record.Word(w.a.context), Initial: make([]byte, w.size),
		}
		saved, err := w.Record(ctx, swapName, []record.Region{left}, body, w.a.back)
		if err != nil {
			return nil, err
		}
		entered, err := w.Registers()
		if err != nil {
			return nil, err
		}
		if entered.PC() != body {
			return []grade.Fault{{Text: "not examined, since the function of a fresh context is not entered"}}, nil
		}
		if faults, err := w.linkKept(entered); err != nil || faults != nil {
			return faults, err
		}
		back, err := w.leave(entered)
		if err != nil {
			return nil, err
		}
		var trouble *grade.Trouble
		switch err := w.Arrive(ctx, "setcontext", w.a.back); {
		case errors.As(err, &trouble):
			return []grade.Fault{w.notFollowed(saved, back, trouble)}, nil
		case err != nil:
			return nil, err
		}
		if missing := w.floatingPoint(); missing != "" && w.Arch() == machine.ARM64 {
			return []grade.Fault{
				{Text: "d8 to d15 and fpcr come back changed when setcontext resumes what " + swapName +
					" has saved: " + missing},
			}, nil
		}
		faults, err := w.changed(w.a, "setcontext", swapName, func(register string, value uint64) string {
			return w.kept(saved, register, value)
		})
		if err != nil || len(faults) > 0 {
			return faults, err
		}
		return w.adds(ctx)
	})
}

// linkKept examines that the function of a fresh context has what the library left for its return.
func (w *world) linkKept(entered machine.Registers) ([]grade.Fault, error) {
	register := map[*machine.Arch]string{machine.AMD64: "rbx", machine.ARM64: "x19"}[w.Arch()]
	at := offsets[w.Arch()][register]
	want, err := w.Word(w.b.context + uint64(at))
	if err != nil || entered.Get(register) == want {
		return nil, err
	}
	return []grade.Fault{{Text: fmt.Sprintf(
		"uc_link is lost: %s is %#x when the function of a fresh context is entered: makecontext has left %#x for "+
			"it, at offset %d",
		register, entered.Get(register), want, at,
	)}}, nil
}

// leave returns from the function of a fresh context, as a function does that has changed all that it may, and returns
// the address to which that leads.
func (w *world) leave(entered machine.Registers) (back uint64, err error) {
	a := w.Arch()
	regs := entered.Clone()
	w.draw(regs, slices.DeleteFunc(slices.Clone(a.Registers), func(name string) bool {
		return slices.Contains(a.Saved, name)
	}))
	if a.Link != "" {
		back = entered.Get(a.Link)
		regs.Set(a.Link, back)
	} else {
		if back, err = w.Word(regs.SP()); err != nil {
			return 0, err
		}
		regs.Set(a.SP, regs.SP()+8)
	}
	regs.Set(a.PC, back)
	return back, w.SetRegisters(regs)
}

// notFollowed says why the library did not come to where the submission's function was called.
func (w *world) notFollowed(saved *record.Recording, back uint64, trouble *grade.Trouble) grade.Fault {
	text := "when the function of a fresh context returns, setcontext, which the library calls with uc_link, " +
		trouble.What
	if symbol, known := w.Program.At(back); !known || !strings.Contains(symbol.Name, "context") {
		return grade.Fault{Text: fmt.Sprintf(
			"the return address of the function of a fresh context is %#x, and not what makecontext has set", back)}
	}
	if missing := w.floatingPoint(); missing != "" {
		return grade.Fault{Text: text + ": " + missing}
	}
	a := w.Arch()
	for _, name := range []string{a.PC, a.SP} {
		want := w.a.sp
		if name == a.PC {
			want = w.a.back
		}
		if why := w.kept(saved, name, want); why != "" {
			return grade.Fault{Text: text + ", since " + name + " is not where the library keeps it" + why}
		}
	}
	return grade.Fault{Text: text}
}

// floatingPoint says what keeps setcontext from loading the floating-point state that was saved, or returns "".
func (w *world) floatingPoint() string {
	if w.Arch() == machine.AMD64 {
		pointer, err := w.Word(w.a.context + fpregs)
		if err != nil || pointer == w.a.context+uint64(offsets[machine.AMD64]["x87cw"]) {
			return ""
		}
		return fmt.Sprintf(
			"it finds the floating-point state by fpregs, at offset %d of the context that was left, "+
				"and %#x is there, "+
				"not the address of that state, which begins at offset %d",
			fpregs, pointer, offsets[machine.AMD64]["x87cw"],
		)
	}
	head, err := w.Word(w.a.context + fphead)
	if err != nil || uint32(head) == fpmagic {
		return ""
	}
	return fmt.Sprintf(
		"it loads the floating-point state if its head, at offset %d of the context that was left, is FPSIMD_MAGIC, "+
			"%#x, and %#x is there",
		fphead, fpmagic, uint32(head),
	)
}

// kept says where a value was saved, in place of where the library looks for it; or returns "".
func (w *world) kept(saved *record.Recording, register string, value uint64) string {
	want := offsets[w.Arch()][register]
	width := map[string]int{"mxcsr": 4, "fpcr": 4, "x87cw": 2}[register]
	if width == 0 {
		width = 8
	}
	wanted := binary.LittleEndian.AppendUint64(nil, value)[:width]
	image := saved.Image(0, len(saved.Steps))
	if bytes.Equal(image[want:want+width], wanted) {
		return ""
	}
	text := fmt.Sprintf(": the library keeps it at offset %d", want)
	if at := bytes.Index(image, wanted); width == 8 && at >= 0 {
		return fmt.Sprintf("%s, and it was saved at %d", text, at)
	}
	return text + ", and it was not saved there"
}

// adds examines that the x87 unit can be used where the submission's function was called.
func (w *world) adds(ctx context.Context) ([]grade.Fault, error) {
	now, err := w.Registers()
	if err != nil {
		return nil, err
	}
	if _, err := w.Enter(now, w.Symbol(addName), w.a.sp, w.a.back); err != nil {
		return nil, err
	}
	const text = "when setcontext has resumed what " + swapName + " has saved, 1 + 1 on the x87 unit"
	const why = "its environment, 28 bytes from x87cw at offset 424 on, must say that it is empty (fnstenv saves it)"
	var trouble *grade.Trouble
	switch err := w.Arrive(ctx, "1 + 1", w.a.back); {
	case errors.As(err, &trouble):
		return []grade.Fault{{Text: text + " " + trouble.What + ": " + why}}, nil
	case err != nil:
		return nil, err
	}
	if now, err = w.Registers(); err != nil || uint32(now.Get(w.Arch().Result)) == 2 {
		return nil, err
	}
	return []grade.Fault{{Text: text + " is not 2: " + why}}, nil
}

// resumes examines that the submission can go on with what the library's getcontext has saved.
func resumes(ctx context.Context, b *grade.Bench) ([]grade.Fault, error) {
	return in(ctx, b, func(ctx context.Context, w *world) ([]grade.Fault, error) {
		if err := w.call(w.b, getName, w.b.context); err != nil {
			return nil, err
		}
		if err := w.Arrive(ctx, getName, w.b.back); err != nil {
			return nil, err
		}
		if err := w.call(w.a, swapName, w.a.context, w.b.context); err != nil {
			return nil, err
		}
		if err := w.Arrive(ctx, swapName, w.b.back, w.a.back); err != nil {
			return nil, err
		}
		now, err := w.Registers()
		if err != nil {
			return nil, err
		}
		if now.PC() != w.b.back {
			return []grade.Fault{
				{Text: "a context that " + getName + " has made is not resumed: the swap returns to its own caller"},
			}, nil
		}
		return w.changed(w.b, swapName, getName, func(register string, _ uint64) string {
			return fmt.Sprintf(": the library keeps it at offset %d", offsets[w.Arch()][register])
		})
	})
}
