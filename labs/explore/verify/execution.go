package verify

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"fiberlab/labs/explore"
	"fiberlab/labs/machine"
)

// The limits of the runtime, which a program may rely on.
const (
	mostThreads = 7
	stackSize   = 256 << 10
	stepLimit   = 40_000  // visible steps: twice as many as in a search, where threads spin less
	scriptLimit = 32_000  // of its length: the runtime keeps 1<<16 decisions, at most two for each letter
	lookLimit   = 4       // yields of a thread while nothing changes
	silentLimit = 1 << 20 // plain accesses without a visible step
	tickLimit   = 2       // ticks of the runtime's clock without a call
)

// execution is one schedule while it runs.
type execution struct {
	*watch
	choose  *chooser
	threads []*thread
	current *thread
	running *thread // that ran last
	memory  memory
	heap    heap
	changes int // steps that may end the spin of another thread
	steps   []explore.Step
	script  []byte // the decisions, for the program's own runtime
	total   int    // visible steps
	silent  int    // plain accesses since the last of these
}

// thread is a thread of the program: its registers while it does not run.
type thread struct {
	knowledge
	number   int
	regs     machine.Registers // the general ones alone, unless another thread has run since
	stack    uint64            // the stack pointer at its beginning
	time     uint32            // of its last visible step
	acquired knowledge
	released knowledge
	given    knowledge // at the unpark that gave the token
	token    bool
	woken    bool // it had a wake-up without a token
	failed   bool // it had a weak compare-exchange that failed without a reason
	ended    bool
	starter  *thread // until its first visible step
	next     *operation
	yielded  int // the count of changes at its last yield
	looks    int
	idle     int // its visible steps since it last changed something
	pc       uint64
}

// operation is what a thread does next. Others may go on before it does it.
type operation struct {
	ready func() readiness // nil: always
	do    func() error     // it makes the call return
}

type readiness int

// From the least ready.
const (
	blocked    readiness = iota
	spinning             // it looks again when no other thread can run
	spurious             // it may wake without a reason: no progress can be built on that
	byDeadline           // its deadline will come
	ready
)

func (t *thread) readiness() readiness {
	switch {
	case t.ended || t.next == nil:
		return blocked
	case t.next.ready == nil:
		return ready
	}
	return t.next.ready()
}

func newExecution(w *watch, c *chooser) *execution {
	e := &execution{watch: w, choose: c, changes: 1, memory: newMemory(), heap: newHeap(w.heapStart)}
	e.current = e.addThread(w.start0, w.test, 0)
	if e.current.stack = w.start0.SP(); w.Arch().Link == "" {
		e.current.stack += 8
	}
	return e
}

// addThread adds a thread that calls body(arg).
func (e *execution) addThread(regs machine.Registers, body, arg uint64) *thread {
	a := e.Arch()
	t := &thread{number: len(e.threads), regs: regs.Clone()}
	t.knowledge, t.acquired, t.released, t.given = newKnowledge(), newKnowledge(), newKnowledge(), newKnowledge()
	t.stack = e.stackStart + uint64(t.number+1)*stackSize
	t.regs.Set(a.Arguments[0], arg)
	t.regs.Set(a.PC, body)
	e.threads = append(e.threads, t)
	return t
}

// enter puts the return address of a new thread's body where the body looks for it.
func (e *execution) enter(t *thread) error {
	a := e.Arch()
	sp := t.stack
	if a.Link == "" {
		sp -= 8
		if err := e.set(sp, 8, e.returned); err != nil {
			return err
		}
	} else {
		t.regs.Set(a.Link, e.returned)
	}
	t.regs.Set(a.SP, sp)
	return nil
}

// run runs the schedule to its end. The error is a *Fault if it fails.
func (e *execution) run(ctx context.Context) error {
	if err := e.enter(e.current); err != nil {
		return err
	}
	for {
		if err := e.resume(ctx, e.current); err != nil {
			return err
		}
		if err := e.arrived(e.current); err != nil {
			return err
		}
		for e.current.next != nil || e.current.ended { // it is at a visible step, or at its end
			next, err := e.successor(e.current)
			if err != nil || next == nil {
				return err
			}
			e.current = next
			if next.next == nil { // it has started a thread, and goes on behind that
				break
			}
			do := next.next.do
			next.next = nil
			if err := do(); err != nil {
				return err
			}
		}
	}
}

// successor is the thread that goes on when t has announced a visible step or has ended; nil: the schedule is over.
func (e *execution) successor(t *thread) (*thread, error) {
	if starter := t.starter; starter != nil {
		t.starter = nil
		return starter, nil
	}
	candidates, free := e.candidates(t)
	if len(candidates) == 0 {
		return nil, e.stuck()
	}
	next := e.choose.thread(t, candidates, free)
	if next.readiness() == spinning {
		next.looks++
	}
	e.script = append(e.script, byte('0'+next.number))
	return next, nil
}

// candidates are the threads that can go on, t first if it is ready: then another one is a preemption. Otherwise the
// choice is free.
func (e *execution) candidates(t *thread) (all []*thread, free bool) {
	by := map[readiness][]*thread{}
	for _, u := range e.threads {
		if how := u.readiness(); how != spinning || u.looks < lookLimit {
			by[how] = append(by[how], u)
		}
	}
	if free = t.readiness() != ready; !free {
		all = append(all, t)
	}
	for _, u := range append(by[ready], by[byDeadline]...) {
		if free || u != t {
			all = append(all, u)
		}
	}
	if len(all) > 0 {
		return append(all, by[spurious]...), free
	}
	return by[spinning], free
}

// stuck is why no thread can go on; nil: all have ended.
func (e *execution) stuck() error {
	kind, text := "", ""
	for _, t := range e.threads {
		switch {
		case t.ended:
			continue
		case t.readiness() == spinning:
			kind = "livelock"
		case kind == "":
			kind = "deadlock"
		}
		place, _ := e.program.Place(t.pc - 1)
		text += fmt.Sprintf(" Thread %d waits at %s:%d.", t.number, place.File, place.Line)
	}
	switch kind {
	case "deadlock":
		return e.fault(kind, "No thread can run.%s", text)
	case "livelock":
		return e.fault(kind, "No thread can make progress.%s", text)
	}
	return e.memory.items.end(e)
}

// resume runs thread t up to its next call of the runtime.
func (e *execution) resume(ctx context.Context, t *thread) error {
	if left := e.running; left != nil && left != t {
		all, err := e.Registers()
		if err != nil {
			return err
		}
		left.regs = left.regs.With(all)
	}
	e.running = t
	if err := e.SetRegisters(t.regs); err != nil {
		return err
	}
	for ticks := 0; ; {
		stop, err := e.Run(ctx)
		switch {
		case err != nil:
			return err
		case stop.Kind == machine.Reached:
			e.stops++
			t.regs, err = e.General()
			return err
		case stop.Kind != machine.Signalled:
			return e.fault("crash", "Thread %d %v.", t.number, stop)
		case stop.Signal == syscall.SIGVTALRM: // a tick of the runtime's clock
			if ticks++; ticks > tickLimit {
				return e.callEndless(t)
			}
		case !ignored(stop):
			if r, err := e.General(); err == nil {
				t.pc = r.PC() + 1
			}
			return e.fault("crash", "Thread %d crashes: it %v.", t.number, stop)
		}
	}
}

// ignored reports whether a signal may come from the runtime of this process, before it became the program, or from the
// explorer's clock.
func ignored(s machine.Stop) bool { return s.Signal == syscall.SIGURG || s.Signal == syscall.SIGVTALRM }

// arrived does the call that thread t makes, or notes it in t.next if others may go on before it.
func (e *execution) arrived(t *thread) error {
	if e.total >= stepLimit || len(e.script) > scriptLimit {
		return e.fault("livelock", "The schedule does not end within %d steps and %d choices.", stepLimit, scriptLimit)
	}
	pc := t.regs.PC()
	if pc == e.returned && t.regs.SP() == t.stack {
		e.tick(t)
		e.step(explore.Step{Thread: t.number, Op: "end"})
		t.ended = true
		e.changes++
		return nil
	}
	name := e.names[pc]
	c, known := callNamed(name)
	if !known {
		return e.fault(Tampering, "Thread %d calls %s, which is a part of the explorer.", t.number, name)
	}
	back, err := e.caller(t)
	if err != nil {
		return err
	}
	t.pc = back
	if e.options.Calls != nil && strings.HasPrefix(name, "explore_") && !slices.Contains(e.options.Calls, name) &&
		!e.inTest(back) {
		return e.fault(Tampering, "Thread %d calls %s, which is for tests alone.", t.number, name)
	}
	return c(e, t)
}

// caller returns the address to which the call returns.
func (e *execution) caller(t *thread) (uint64, error) {
	if link := e.Arch().Link; link != "" {
		return t.regs.Get(link), nil
	}
	return e.word(t.regs.SP())
}

// arg returns the i-th argument of the call, cut to so many bytes.
func (e *execution) arg(t *thread, i, size int) uint64 {
	return cut(t.regs.Get(e.Arch().Arguments[i]), size)
}

// done makes the call return.
func (e *execution) done(t *thread, result ...uint64) error {
	a := e.Arch()
	for _, value := range result {
		t.regs.Set(a.Result, value)
	}
	t.regs.Set(a.PC, t.pc)
	if a.Link == "" {
		t.regs.Set(a.SP, t.regs.SP()+8)
	}
	return nil
}

// visible announces a step of thread t.
func (e *execution) visible(t *thread, ready func() readiness, do func() error) error {
	t.next = &operation{ready, do}
	return nil
}

// tick counts a visible step of thread t.
func (e *execution) tick(t *thread) {
	e.total++
	t.time++
	t.idle++
	t.hb[t.number] = t.time
	e.silent = 0
}

// changed notes that a step of t changed something.
func (e *execution) changed(t *thread) {
	e.changes++
	t.idle = 0
}

func (e *execution) step(s explore.Step) { e.steps = append(e.steps, s) }

func (e *execution) fault(kind, format string, args ...any) error {
	return &Fault{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// place notes in which line the fault was found.
func (e *execution) place(f *Fault) {
	for _, s := range slices.Backward(e.steps) {
		if s.PC != 0 {
			f.Place, _ = e.program.Place(uint64(s.PC) - 1)
			return
		}
	}
}

// value reads a number of up to 8 bytes from the program's memory.
func (w *watch) value(address uint64, size int) (uint64, error) {
	var bytes [8]byte
	err := w.Read(address, bytes[:size])
	return binary.LittleEndian.Uint64(bytes[:]), wild(err)
}

// set writes one.
func (w *watch) set(address uint64, size int, value uint64) error {
	return wild(w.Write(address, binary.LittleEndian.AppendUint64(nil, value)[:size]))
}

// wild makes a fault of an access to memory that is not mapped.
func wild(err error) error {
	if unmapped := new(machine.UnmappedError); errors.As(err, &unmapped) {
		return &Fault{Kind: "crash", Text: fmt.Sprintf(
			"The program uses memory that is not there: %d bytes at %#x.", unmapped.Size, unmapped.Address,
		)}
	}
	return err
}

// cut returns the low bytes of a value.
func cut(value uint64, size int) uint64 {
	if size >= 8 {
		return value
	}
	return value & (1<<(8*size) - 1)
}
