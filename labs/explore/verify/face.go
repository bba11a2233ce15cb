package verify

import (
	"bytes"
	"math/bits"

	"fiberlab/labs/explore"
)

// This file has the calls of explore.h, and the calls of the C library that the linker leads to the runtime.

func (e *execution) callFence(t *thread) error {
	o, err := e.orderOf(t, 0)
	if err != nil {
		return err
	}
	do := func() error {
		e.tick(t)
		e.step(explore.Step{Thread: t.number, PC: explore.Address(t.pc), Op: "fence", Order: o.String()})
		e.fence(t, o)
		return e.done(t)
	}
	if o != seqCst { // it concerns its thread alone
		return do()
	}
	return e.visible(t, nil, do)
}

// known returns the thread that the first argument names.
func (e *execution) known(t *thread, call string) (*thread, error) {
	n := int(int32(e.arg(t, 0, 4)))
	if n < 0 || n >= len(e.threads) {
		return nil, e.fault("check", "%s(%d): there is no such thread.", call, n)
	}
	return e.threads[n], nil
}

func (e *execution) callStart(t *thread) error {
	return e.visible(t, nil, func() error {
		if len(e.threads) == mostThreads {
			return e.fault("limit", "The program starts more than %d threads a schedule.", mostThreads-1)
		}
		e.tick(t)
		e.note(t, "start", uint64(len(e.threads)))
		child := e.addThread(e.start0, e.arg(t, 0, 8), e.arg(t, 1, 8))
		child.knowledge, child.starter = t.clone(), t
		e.current = child // up to its first visible step
		if err := e.enter(child); err != nil {
			return err
		}
		return e.done(t, uint64(child.number))
	})
}

func (e *execution) callJoin(t *thread) error {
	other, err := e.known(t, "explore_join")
	if err != nil {
		return err
	}
	if other == t {
		return e.fault("check", "explore_join(%d): a thread cannot wait for its own end.", t.number)
	}
	do := func() error {
		e.tick(t)
		t.join(other.knowledge)
		e.note(t, "join", uint64(other.number))
		return e.done(t)
	}
	if other.ended {
		return do()
	}
	return e.visible(t, func() readiness {
		if other.ended {
			return ready
		}
		return blocked
	}, do)
}

func (e *execution) callCheck(t *thread) error {
	if e.arg(t, 0, 1) != 0 {
		return e.done(t)
	}
	claim := e.text(e.arg(t, 1, 8))
	return e.fault("check", "The schedule breaks the claim \"%s\".", claim)
}

func (e *execution) callChoose(t *thread) error {
	const most = 26 // as a script can say it
	n := int(e.arg(t, 0, 4))
	if n < 1 || n > most {
		return e.fault("limit", "explore_choose(%d): choose one of at most %d values.", n, most)
	}
	chosen := e.choose.value(n)
	if n > 1 {
		e.script = append(e.script, byte('A'+chosen))
	}
	if e.silent++; e.silent > silentLimit {
		return e.fault("livelock", "Thread %d chooses without end.", t.number)
	}
	e.step(explore.Step{Thread: t.number, PC: explore.Address(t.pc), Op: "choose", Value: &chosen})
	return e.done(t, chosen)
}

// text reads a string of the program, cut after some bytes.
func (e *execution) text(address uint64) string {
	var text []byte
	for one := make([]byte, 1); len(text) < 200 && e.Read(address, one) == nil && one[0] != 0; address++ {
		text = append(text, one[0])
	}
	return string(bytes.ToValidUTF8(text, []byte("?")))
}

// mutexStep is a visible step of a mutex.
func (e *execution) mutexStep(
	t *thread, op string, ready func(x *object) readiness, do func(x *object) error,
) error {
	address := e.arg(t, 0, 8)
	if err := e.checkHeap(t, address, 4); err != nil {
		return err
	}
	x := e.memory.object(address, 4)
	return e.visible(t, func() readiness { return ready(x) }, func() error {
		if err := e.checkHeap(t, address, 4); err != nil { // others may have freed it since
			return err
		}
		e.tick(t)
		e.step(explore.Step{
			Thread: t.number, PC: explore.Address(t.pc), Op: op, Address: explore.Address(address), Size: 4,
		})
		if _, err := e.atomic(t, address, 4, true); err != nil {
			return err
		}
		x.atomicWrite[t.number] = t.time
		return do(x)
	})
}

func always(*object) readiness { return ready }

func (e *execution) take(t *thread, x *object) {
	x.owner = t
	t.join(x.unlocked)
	e.changed(t)
}

func (e *execution) callLock(t *thread) error {
	return e.mutexStep(t, "lock", func(x *object) readiness {
		if x.owner != nil {
			return blocked
		}
		return ready
	}, func(x *object) error {
		e.take(t, x)
		return e.done(t)
	})
}

func (e *execution) callTrylock(t *thread) error {
	return e.mutexStep(t, "trylock", always, func(x *object) error {
		taken := uint64(1)
		if x.owner != nil {
			taken = 0
		} else {
			e.take(t, x)
		}
		e.steps[len(e.steps)-1].Value = &taken
		return e.done(t, taken)
	})
}

func (e *execution) callUnlock(t *thread) error {
	return e.mutexStep(t, "unlock", always, func(x *object) error {
		if x.owner != t {
			return e.fault("check", "Thread %d unlocks a mutex that it does not hold.", t.number)
		}
		x.owner, x.unlocked = nil, t.clone()
		e.changed(t)
		return e.done(t)
	})
}

func (e *execution) park(t *thread, deadline bool) error {
	return e.visible(t, func() readiness {
		switch {
		case t.token:
			return ready
		case deadline:
			return byDeadline
		case t.woken:
			return blocked
		}
		return spurious
	}, func() error {
		e.tick(t)
		e.note(t, "park")
		result := uint64(1)
		switch {
		case t.token:
			t.token = false
			t.join(t.given)
		case deadline:
			result = 0
		default:
			t.woken = true
		}
		if !deadline {
			return e.done(t)
		}
		return e.done(t, result)
	})
}

func (e *execution) callUnpark(t *thread) error {
	other, err := e.known(t, "explore_unpark")
	if err != nil {
		return err
	}
	return e.visible(t, nil, func() error {
		e.tick(t)
		e.note(t, "unpark", uint64(other.number))
		other.token = true
		other.given.join(t.knowledge)
		e.changed(t)
		return e.done(t)
	})
}

func (e *execution) callYield(t *thread) error {
	e.mayNotOverlook(t)
	if t.yielded != e.changes {
		t.yielded, t.looks = e.changes, 0
	}
	return e.visible(t, func() readiness {
		if t.yielded != e.changes {
			return ready
		}
		return spinning
	}, func() error {
		e.note(t, "yield")
		return e.done(t)
	})
}

func (e *execution) callEndless(t *thread) error {
	return e.fault("livelock", "Thread %d runs without end and does no visible step.", t.number)
}

func (e *execution) callPut(t *thread) error {
	value := e.arg(t, 0, 8)
	e.step(explore.Step{Thread: t.number, PC: explore.Address(t.pc), Op: "put", Stored: &value})
	if e.memory.items[value] {
		return e.fault("check", "Thread %d puts %d again, although it has not been taken.", t.number, value)
	}
	e.memory.items[value] = true
	return e.done(t)
}

func (e *execution) callTake(t *thread) error {
	value := e.arg(t, 0, 8)
	e.step(explore.Step{Thread: t.number, PC: explore.Address(t.pc), Op: "take", Value: &value})
	waits, known := e.memory.items[value]
	switch {
	case !known:
		return e.fault("check", "Thread %d takes %d, which was not put before.", t.number, value)
	case !waits:
		return e.fault("double-take", "Thread %d takes %d, which was taken before.", t.number, value)
	}
	e.memory.items[value] = false
	return e.done(t)
}

// give makes a call return a new block.
func (e *execution) give(t *thread, size, alignment uint64, fill byte) error {
	address, err := e.allocate(size, alignment, fill)
	if err != nil {
		return err
	}
	return e.done(t, address)
}

func (e *execution) callCalloc(t *thread) error {
	high, size := bits.Mul64(e.arg(t, 0, 8), e.arg(t, 1, 8))
	if high != 0 {
		return e.done(t, 0)
	}
	return e.give(t, size, unit, 0)
}

func (e *execution) callAligned(t *thread) error {
	alignment := e.arg(t, 0, 8)
	if bits.OnesCount64(alignment) != 1 || alignment > 4096 {
		return e.done(t, 0)
	}
	return e.give(t, e.arg(t, 1, 8), alignment, 0xa5)
}

func (e *execution) callFree(t *thread) error {
	if address := e.arg(t, 0, 8); address != 0 {
		if err := e.release(t, address); err != nil {
			return err
		}
	}
	return e.done(t)
}

func (e *execution) callRealloc(t *thread) error {
	address, size := e.arg(t, 0, 8), e.arg(t, 1, 8)
	if address == 0 {
		return e.give(t, size, unit, 0xa5)
	}
	old := e.heap.block(address)
	if old == nil || old.freed || old.address != address {
		return e.release(t, address) // which is the fault
	}
	kept := min(old.size, size)
	larger, err := e.allocate(size, unit, 0xa5)
	if err != nil {
		return err
	}
	if err := e.copy(t, larger, address, kept); err != nil {
		return err
	}
	if err := e.release(t, address); err != nil {
		return err
	}
	return e.done(t, larger)
}

// copy copies memory of the program, by plain accesses.
func (e *execution) copy(t *thread, to, from, size uint64) error {
	if size > heapSize {
		return e.fault("crash", "Thread %d copies %d bytes.", t.number, size)
	}
	if err := e.called(t, from, size, false); err != nil {
		return err
	}
	if err := e.called(t, to, size, true); err != nil {
		return err
	}
	content := make([]byte, size)
	if err := e.Read(from, content); err != nil {
		return wild(err)
	}
	return wild(e.Write(to, content))
}

// called notes an access by a function of the C library. Constants need no notes.
func (e *execution) called(t *thread, address, size uint64, write bool) error {
	stacks := region{e.stackStart, mostThreads * stackSize}
	own := region{e.engine, runtimeMap}
	whole := region{e.globals[0].address, e.globals[1].address + e.globals[1].size - e.globals[0].address}
	if whole.has(address) || e.heap.has(address) || stacks.has(address) || own.has(address) {
		return e.plain(t, address, size, write)
	}
	return nil
}

func (e *execution) callCopy(t *thread) error {
	if err := e.copy(t, e.arg(t, 0, 8), e.arg(t, 1, 8), e.arg(t, 2, 8)); err != nil {
		return err
	}
	return e.done(t, e.arg(t, 0, 8))
}

func (e *execution) callSet(t *thread) error {
	to, fill, size := e.arg(t, 0, 8), byte(e.arg(t, 1, 1)), e.arg(t, 2, 8)
	if size > heapSize {
		return e.fault("crash", "Thread %d sets %d bytes.", t.number, size)
	}
	if err := e.called(t, to, size, true); err != nil {
		return err
	}
	if err := e.Write(to, bytes.Repeat([]byte{fill}, int(size))); err != nil {
		return wild(err)
	}
	return e.done(t, to)
}
