package stacks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"syscall"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// call is a system call that a function of the submission has made.
type call struct {
	name    string // "mmap"; empty for a call that does not matter here
	args    [6]uint64
	result  uint64
	handler uint64        // of rt_sigaction: the address of the handler
	flags   uint64        // and its flags
	stray   bool          // of mmap: whether it asks for a fixed address at which this function has mapped nothing
	place   machine.Place // the line of the submission that asked for it
}

// failed reports whether the kernel refused the call.
func (c call) failed() bool { return int64(c.result) < 0 && int64(c.result) >= -4095 }

// numbers are the numbers of the system calls that matter here.
var numbers = map[*machine.Arch]map[uint64]string{
	machine.AMD64: {
		9: "mmap", 10: "mprotect", 11: "munmap", 25: "mremap", 28: "madvise", 131: "sigaltstack", 13: "rt_sigaction",
	},
	machine.ARM64: {
		222: "mmap", 226: "mprotect", 215: "munmap", 216: "mremap", 233: "madvise", 132: "sigaltstack",
		134: "rt_sigaction",
	},
}

// conventions are where a system call has its number and its arguments.
var conventions = map[*machine.Arch]struct {
	number string
	args   [6]string
	length uint64 // bytes of the instruction
}{
	machine.AMD64: {"rax", [6]string{"rdi", "rsi", "rdx", "r10", "r8", "r9"}, 2},
	machine.ARM64: {"x8", [6]string{"x0", "x1", "x2", "x3", "x4", "x5"}, 4},
}

// mostCalls is far more system calls than a function of this lab needs.
const mostCalls = 100

// follow calls a function of the submission and returns its result, an int, and the system calls that it made, if they
// matter here. The call number refused, counted from 0, is not made and fails with that error; -1 refuses none. The
// pages that the calls map and unmap are kept in w.pages. If w is blind, no calls are seen, and none can be refused.
func (w *world) follow(
	ctx context.Context, name string, refused int, why syscall.Errno, args ...uint64,
) (result uint64, calls []call, err error) {
	// What did not come back once is not waited for again.
	hung, err := grade.Shared(
		ctx, w.bench, "hung", func(context.Context) (map[string]error, error) { return map[string]error{}, nil },
	)
	if err != nil || hung[name] != nil {
		return 0, nil, errors.Join(err, hung[name])
	}
	defer func() {
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			hung[name] = err
		}
	}()
	if w.blind {
		result, err = w.Call(ctx, name, args...)
		return uint64(uint32(result)), nil, err
	}
	a := w.Arch()
	how := conventions[a]
	if _, err := w.Enter(w.ready, w.Symbol(name), w.sp(), w.back(), args...); err != nil {
		return 0, nil, err
	}
	until, err := systemCalls(ctx, w.bench)
	if err != nil {
		return 0, nil, err
	}
	until = append(until[:len(until):len(until)], w.back())
	before := w.pages.clone()
	for range mostCalls {
		if err := w.Arrive(ctx, name, until...); err != nil {
			return 0, calls, err
		}
		regs, err := w.Registers()
		if err != nil {
			return 0, calls, err
		}
		if regs.PC() == w.back() {
			return uint64(uint32(regs.Get(a.Result))), calls, nil
		}
		known := numbers[a][regs.Get(how.number)]
		if known == "" {
			continue
		}
		calls = append(calls, call{name: known, place: w.caller(regs)})
		made := &calls[len(calls)-1]
		for i, register := range how.args {
			made.args[i] = regs.Get(register)
		}
		if known == "rt_sigaction" && made.args[1] != 0 {
			// The kernel's struct sigaction begins with these two.
			made.handler, _ = w.Word(made.args[1])
			made.flags, _ = w.Word(made.args[1] + 8)
		}
		if known == "mmap" && made.args[3]&mapFixed != 0 {
			own := w.pages.clone()
			maps.DeleteFunc(own, func(at, _ uint64) bool { _, old := before[at]; return old })
			made.stray = !own.has(w.page, made.args[0], made.args[1])
		}
		if len(calls)-1 == refused {
			made.result = -uint64(why)
			regs.Set(a.Result, made.result)
			regs.Set(a.PC, regs.PC()+how.length)
			if err := w.SetRegisters(regs); err != nil {
				return 0, calls, err
			}
			continue
		}
		stop, err := w.Step(ctx)
		if err != nil {
			return 0, calls, late(err, name, "does not come back from "+known, made.place)
		}
		if stop.Kind != machine.Stepped {
			return 0, calls, &grade.Trouble{Doing: name, What: stop.String(), Place: made.place, Stop: stop}
		}
		after, err := w.Registers()
		if err != nil {
			return 0, calls, err
		}
		made.result = after.Get(a.Result)
		w.pages.apply(w.page, *made)
	}
	return 0, calls, &grade.Trouble{
		Doing: name, What: fmt.Sprintf("does not come back within %d system calls", mostCalls),
	}
}
