package machine

import (
	"context"
	"slices"
	"syscall"
)

// stepWhole runs one instruction by steps of which once makes one; it is given the bytes of the instruction. A string
// instruction with a rep prefix takes a step for each round, a system call that is interrupted takes more.
func stepWhole(ctx context.Context, m Machine, once func(context.Context, []byte) (Stop, error)) (Stop, error) {
	before, err := m.General()
	if err != nil {
		return Stop{}, err
	}
	code := Fetch(m, before.PC())
	for {
		stop, err := once(ctx, code)
		if err != nil || stop.Kind != Stepped || !isRepeated(m.Arch(), code) && !IsSystemCall(m.Arch(), code) {
			return stop, err
		}
		now, err := m.General()
		if err != nil || !unfinished(before, now, code) {
			return stop, err
		}
	}
}

// unfinished reports whether an instruction that has run a step must run on. This is a repeated one whose rounds are
// not over, or a system call that a signal has interrupted and that the kernel will begin again.
func unfinished(before, now Registers, code []byte) bool {
	if now.PC() == before.PC() {
		return true
	}
	const firstRestart, lastRestart = -512, -516 // ERESTARTSYS and the like, which only a tracer sees
	result := int64(now.Get(now.arch.Result))
	return now.arch == AMD64 && IsSystemCall(AMD64, code) && result <= firstRestart && result >= lastRestart
}

// runUntil is Run, by on, which runs until the program counter comes to one of until from elsewhere.
func runUntil(
	ctx context.Context, m Machine, until []uint64, on func(context.Context, []uint64) (Stop, error),
) (Stop, error) {
	if len(until) == 0 {
		return on(ctx, nil)
	}
	r, err := m.General()
	if err != nil {
		return Stop{}, err
	}
	if slices.Contains(until, r.PC()) {
		stop, err := m.Step(ctx)
		if err != nil || stop.Kind != Stepped {
			return arrived(m, until, stop, err)
		}
		if r, err = m.General(); err != nil {
			return Stop{}, err
		}
		if slices.Contains(until, r.PC()) {
			return Stop{Kind: Reached}, nil
		}
	}
	stop, err := on(ctx, until)
	return arrived(m, until, stop, err)
}

// arrived turns the fault of a jump to one of until, where no memory is, into the arrival that it was.
func arrived(m Machine, until []uint64, stop Stop, err error) (Stop, error) {
	if err != nil || stop.Kind != Signalled || stop.Signal != syscall.SIGSEGV && stop.Signal != syscall.SIGBUS {
		return stop, err
	}
	r, err := m.General()
	if err == nil && slices.Contains(until, r.PC()) && Fetch(m, r.PC()) == nil {
		return Stop{Kind: Reached}, nil
	}
	return stop, err
}
