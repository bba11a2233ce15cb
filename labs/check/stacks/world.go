package stacks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// world is a program under examination.
type world struct {
	*grade.Session
	bench  *grade.Bench
	ready  machine.Registers // as they were before anything was called
	page   uint64            // bytes: what the program's kernel says
	blind  bool              // whether functions run at full speed, and their system calls are not seen
	pages  pages             // what the submission has mapped; nothing if blind
	output *output           // what it prints to standard output
	errors *output           // and to standard error
}

// in makes a world, has use examine it, and ends it.
func in(
	ctx context.Context, b *grade.Bench, use func(context.Context, *world) ([]grade.Fault, error),
) (faults []grade.Fault, err error) {
	w := &world{bench: b, pages: pages{}, output: &output{}, errors: &output{}}
	b.Options.Output, b.Options.Errors = w.output, w.errors
	w.Session, err = b.Start(ctx)
	b.Options.Output, b.Options.Errors = nil, nil
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if w.ready, err = w.Registers(); err != nil {
		return nil, err
	}
	// An emulator may have larger pages than this machine.
	w.page, err = grade.Shared(ctx, b, "page", func(ctx context.Context) (uint64, error) { return w.Call(ctx, pageName) })
	if err != nil {
		return nil, err
	}
	return use(ctx, w)
}

// said is all that the program has printed.
func (w *world) said() string { return w.output.String() + w.errors.String() }

// sp returns a stack pointer on the program's own stack from which functions can be called.
func (w *world) sp() uint64 { return (w.ready.SP() - 512) &^ 15 }

// back is where functions that are called return to.
func (w *world) back() uint64 { return w.Symbol("lab_return") }

// onStack enters a function on a stack of the submission's. That there is no memory is the submission's fault.
func (w *world) onStack(function, sp uint64, args ...uint64) error {
	if _, err := w.Enter(w.ready, function, sp, w.back(), args...); err != nil {
		return &grade.Trouble{Doing: mapName, What: fmt.Sprintf("gives stacks that cannot be used: %v", err)}
	}
	return nil
}

// touch reads or writes the byte at addr, with the stack pointer at sp, and returns how that ended:
// Reached if it was possible.
func (w *world) touch(ctx context.Context, function string, sp, addr uint64) (machine.Stop, error) {
	if err := w.onStack(w.Symbol(function), sp, addr, 0x5a); err != nil {
		return machine.Stop{}, err
	}
	return w.Run(ctx, w.back())
}

// canStore reports whether the byte at addr can be written, and writes it.
func (w *world) canStore(ctx context.Context, addr uint64) (bool, error) {
	stop, err := w.touch(ctx, "lab_store", w.sp(), addr)
	return stop.Kind == machine.Reached, err
}

// canLoad reports whether the byte at addr can be read.
func (w *world) canLoad(ctx context.Context, addr uint64) (bool, error) {
	stop, err := w.touch(ctx, "lab_load", w.sp(), addr)
	return stop.Kind == machine.Reached, err
}

// late turns the end of an item's time into trouble of what was running, and leaves other errors as they are.
func late(err error, doing, what string, place machine.Place) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return &grade.Trouble{Doing: doing, What: what, Place: place}
	}
	return err
}

// round rounds up to whole pages.
func (w *world) round(size uint64) uint64 { return (size + w.page - 1) / w.page * w.page }

// place is where in the sources the instruction at pc comes from.
func (w *world) place(pc uint64) machine.Place {
	place, _ := w.Program.Place(pc)
	return place
}

// say describes an error number as a student knows it.
func errno(n uint64) string {
	if n == 0 {
		return "0"
	}
	for _, known := range []struct {
		errno syscall.Errno
		name  string
	}{
		{syscall.EINVAL, "EINVAL"}, {syscall.ENOMEM, "ENOMEM"}, {syscall.EAGAIN, "EAGAIN"},
		{syscall.EPERM, "EPERM"}, {syscall.ENOSYS, "ENOSYS"},
	} {
		if n == uint64(known.errno) {
			return fmt.Sprintf("%s (%d)", known.name, n)
		}
	}
	return fmt.Sprint(int32(n))
}

// fault makes a fault without a place.
func fault(format string, args ...any) grade.Fault {
	return grade.Fault{Text: fmt.Sprintf(format, args...)}
}

// output keeps what a program prints.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

var _ io.Writer = (*output)(nil)

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// quoted shows what a program has printed, in a few words.
func quoted(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return "nothing"
	}
	if len(text) > 80 {
		text = text[:80] + "…"
	}
	return fmt.Sprintf("%q", text)
}
