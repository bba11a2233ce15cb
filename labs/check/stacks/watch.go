package stacks

import (
	"context"
	"errors"
	"fmt"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// The flags of a signal handler.
const (
	flagInfo    = 0x4        // SA_SIGINFO
	flagOnStack = 0x08000000 // SA_ONSTACK
)

// watched is a program in which overflow_watch has been called.
type watched struct {
	*world
	fibers []*mapping // the last one is not given to overflow_watch
	names  []string
	status int
	calls  []call // that overflow_watch made
}

// Counts of fibers. Many are more than a table in a program of this lab is likely to hold.
const (
	few  = 3
	many = 100
)

// watch calls overflow_watch with so many fibers, three or more, behind which in memory another one stands. If it
// cannot, there is a fault that says why.
func (w *world) watch(ctx context.Context, given int) (*watched, []grade.Fault, error) {
	const entrySize = 24
	ws := &watched{world: w, status: 1 + w.bench.Random.IntN(120)}
	table, err := w.Alloc((given+1)*entrySize, 16)
	if err != nil {
		return nil, nil, err
	}
	if err := w.failBefore(ctx); err != nil {
		return nil, nil, err
	}
	ws.fibers, ws.names = make([]*mapping, given+1), make([]string, given+1)
	// In this order, the first or the third fiber lies below all others, whichever way the kernel goes.
	order := []int{0, given}
	for i := 1; i < given; i++ {
		order = append(order, i)
	}
	for _, i := range order {
		name, entry := w.name(), table+uint64(i)*entrySize
		at, err := w.Alloc(len(name)+1, 8)
		if err == nil {
			err = errors.Join(w.Write(at, append([]byte(name), 0)), w.SetWord(entry, at))
		}
		if err != nil {
			return nil, nil, err
		}
		m, faults, err := w.mapStack(ctx, entry+8, (2+w.bench.Random.Uint64N(8))*w.page)
		if err != nil || faults != nil {
			return nil, faults, err
		}
		if i >= few && i < given {
			ws.fibers[i], ws.names[i] = m, name
			continue
		}
		if there, err := w.canLoad(ctx, m.lo-1); err != nil || there {
			return nil, []grade.Fault{
				{Text: "there is no guard page to watch: the byte below s.lo can be touched", Section: "4.3"},
			}, err
		}
		ws.fibers[i], ws.names[i] = m, name
	}
	result, calls, err := w.follow(ctx, watchName, -1, 0, table, uint64(given), uint64(ws.status))
	if err != nil {
		return nil, nil, err
	}
	if ws.calls = calls; result != 0 {
		return nil, []grade.Fault{fault("overflow_watch returns %s: it must return 0", errno(result))}, nil
	}
	return ws, nil, nil
}

// name draws the name of a fiber.
func (w *world) name() string {
	letters := []byte("fiber-")
	for range 8 {
		letters = append(letters, byte('a'+w.bench.Random.IntN(26)))
	}
	return string(letters)
}

// unsafe are the functions of the C library that a submission may use, but not in a signal handler: the function that
// it interrupts may hold their lock.
var unsafe = []string{"malloc", "calloc", "free"}

// end runs the program, in which a signal has arrived, to its end, or until too many signals have arrived, or until the
// handler calls one of the unsafe functions. times is how many signals arrived.
func (w *world) end(ctx context.Context, stop machine.Stop) (end machine.Stop, times int, err error) {
	until := []uint64{w.back()}
	for _, name := range unsafe {
		if function, err := w.Program.Symbol(name); err == nil {
			until = append(until, function.Address)
		}
	}
	for times = 0; stop.Kind == machine.Signalled && times < 4; times++ {
		if err := w.Deliver(stop.Signal); err != nil {
			return stop, times, err
		}
		if stop, err = w.Run(ctx, until...); err != nil {
			return stop, times, late(
				err, "the handler that overflow_watch has set", "does not come to its end", machine.Place{},
			)
		}
	}
	return stop, times, nil
}

// allocates returns what is wrong if the handler has called one of the unsafe functions.
func (w *watched) allocates(end machine.Stop) []grade.Fault {
	if end.Kind != machine.Reached {
		return nil
	}
	regs, err := w.Registers()
	if err != nil || regs.PC() == w.back() {
		return nil
	}
	called := "a function"
	for _, name := range unsafe {
		if function, err := w.Program.Symbol(name); err == nil && function.Address == regs.PC() {
			called = name
		}
	}
	function, _ := w.handler()
	return []grade.Fault{{Text: fmt.Sprintf(
		"%s calls %s: the signal may have interrupted %s itself, and then it waits without end or destroys its data",
		function, called, called), Place: w.caller(regs)}}
}

// handler returns the name of the handler for SIGSEGV, and where it begins.
func (w *watched) handler() (string, machine.Place) {
	if set := w.call("rt_sigaction"); set != nil {
		if symbol, known := w.Program.At(set.handler); known {
			return symbol.Name, w.place(set.handler)
		}
	}
	return "the handler", machine.Place{}
}

// call returns the last system call of that name that overflow_watch made, or nil.
func (w *watched) call(name string) *call {
	for i := len(w.calls) - 1; i >= 0; i-- {
		if w.calls[i].name == name {
			return &w.calls[i]
		}
	}
	return nil
}

// A hit is a way to fault: it gets the program to the fault, and says how the program stopped.
type hit func(context.Context, *watched) (machine.Stop, error)

// recursion overflows the i-th fiber.
func recursion(i int) hit {
	return func(ctx context.Context, w *watched) (machine.Stop, error) {
		if err := w.onStack(w.Symbol("lab_recurse"), w.fibers[i].end()&^15); err != nil {
			return machine.Stop{}, err
		}
		return w.Run(ctx, w.back())
	}
}

// storeBelow stores so many bytes below the i-th fiber's stack, on that stack.
func storeBelow(i int, bytes func(page uint64) uint64) hit {
	return func(ctx context.Context, w *watched) (machine.Stop, error) {
		m := w.fibers[i]
		return w.touch(ctx, "lab_store", m.lo+64, m.lo-bytes(w.page))
	}
}
