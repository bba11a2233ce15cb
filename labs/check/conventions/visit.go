package conventions

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
	"fiberlab/labs/record"
)

// call is a function of the submission and how it is called. The functions that it calls in turn, the strangers, do not
// exist. The grader sees the program arrive at an address, does to registers and memory what a stranger may do, and
// makes the program return.
type call struct {
	function string
	prepare  func(*visit) error // sets args, stack and data
	meetings int                // how often a stranger is called
	enough   int                // after so many calls nothing more is of interest; 0: the function returns
	loops    bool               // whether the function decides how often it calls one
	lawless  bool               // whether the strangers break the convention: they keep nothing but the stack pointer
	meet     func(v *visit, n int) error
}

// visit is one call as it went.
type visit struct {
	*call
	*grade.Session
	random   *rand.Rand
	start    machine.Registers // of the program, before any call
	args     []uint64          // in registers
	stack    []uint64          // further ones, above the return address
	data     []area
	stranger uint64            // the address of the strangers
	back     uint64            // the return address
	sp       uint64            // the stack pointer of the caller
	before   machine.Registers // at the first instruction
	after    machine.Registers // at the return
	gifts    int               // how many bytes of arguments a stranger is given on the stack
	met      []meeting
	steps    []step
	origins  map[uint64]string // what a value is
	trouble  *grade.Trouble    // why it came to no end
	told     bool              // whether trouble says all
	failure  grade.Fault       // what is said of trouble
	inner    bool              // whether a stranger makes the call
	quick    bool              // whether it runs at full speed, and records no steps
	free     uint64            // the lowest address of the data that is not in use
	low      uint64            // of the stack
	high     uint64
	image    []byte // what the stack above the stack pointer held
	left     []area // the data as it is at the end
	stray    int    // the offset above the caller's stack pointer at which its frame has changed, or -1
}

// area is a piece of memory that the function may look at.
type area struct {
	name    string
	address uint64
	image   []byte // what it holds
	words   func(i int) string
	mine    bool // whether the function may write to it
}

// meeting is one call of a stranger.
type meeting struct {
	regs  machine.Registers // at the stranger's first instruction
	left  machine.Registers // when it has returned
	gifts []uint64          // what lies where the arguments on the stack are to be
	back  uint64            // where it returns to
	at    int               // how many steps were made before
}

// step is a step of the submission.
type step struct {
	record.Step
	leg   *record.Recording
	index int // in leg.Steps
}

// loss is what the strangers of a visit change: registers by name, and what is called so below.
type loss []string

const (
	memory  = "memory"  // below the stack pointer
	vectors = "vectors" // what lab_change_vectors changes
	// what another call of the function changes, which the first stranger makes; not part of everything
	recursion = "recursion"
)

const (
	stackRoom = 8 << 10
	frame     = 512     // how much of the stack is watched
	above     = 1 << 10 // how much of the stack belongs to the caller
)

// everything is what a stranger may change: the registers that the convention does not keep or, if it is lawless, all.
func (c *call) everything(a *machine.Arch) loss {
	l := loss{memory, vectors}
	for _, name := range a.Registers {
		if general(a, name) && (c.lawless || !slices.Contains(a.Saved, name)) {
			l = append(l, name)
		}
	}
	return l
}

// general reports whether any value may be written to the register.
func general(a *machine.Arch, name string) bool {
	return name != a.PC && name != a.SP && !slices.Contains([]string{"eflags", "mxcsr", "x87cw", "nzcv", "fpcr"}, name)
}

// room is where visits are made: a program that is started when it is needed, and again after trouble.
type room struct {
	bench   *grade.Bench
	session *grade.Session
	start   machine.Registers
	quick   bool // of its visits
}

// make calls the function once. What goes wrong is in the visit; an error is not the submission's fault.
func (r *room) make(ctx context.Context, c *call, lost loss) (*visit, error) {
	if r.session == nil {
		s, err := r.bench.Start(ctx)
		if err != nil {
			return nil, err
		}
		r.session = s
		if r.start, err = s.Registers(); err != nil {
			return nil, err
		}
	}
	v := &visit{
		call: c, Session: r.session, random: r.bench.Random, start: r.start, origins: map[uint64]string{}, stray: -1,
		quick: r.quick,
	}
	err := v.run(ctx, lost)
	if errors.As(err, &v.trouble) {
		v.failure, err = v.failed(), nil
	}
	if v.trouble != nil || c.enough > 0 {
		err = errors.Join(err, r.close())
	}
	return v, err
}

func (r *room) close() error {
	if r.session == nil {
		return nil
	}
	s := r.session
	r.session = nil
	return s.Close()
}

// wide draws an address at which nothing is, and that does not fit into 32 bits.
func (v *visit) wide() uint64 {
	return (v.random.Uint64N(1<<45) | 1<<45 | 1<<31) &^ 15
}

// word draws a value and keeps what it is.
func (v *visit) word(origin string) uint64 {
	w := v.random.Uint64()
	v.origins[w] = origin
	return w
}

// add gives the function an area of so many words. The name of word i is words(i).
func (v *visit) add(name string, count int, mine bool, words func(i int) string) uint64 {
	a := area{name: name, address: v.free, words: words, mine: mine}
	for i := range count {
		a.image = binary.LittleEndian.AppendUint64(a.image, v.word(words(i)))
	}
	v.free += uint64(len(a.image)+15)&^15 + 64
	v.data = append(v.data, a)
	return a.address
}

func (a *area) word(i int) uint64 { return binary.LittleEndian.Uint64(a.image[8*i:]) }

// place lays out stack and data, on the stack that the system gave the program: its addresses do not fit into 32 bits.
func (v *visit) place() error {
	v.low = (v.start.SP() - 48<<10) &^ 15
	if v.inner {
		v.low -= 2 * stackRoom // the data lie above the stack
	}
	v.high = v.low + stackRoom
	v.sp = v.high - above - 16*v.random.Uint64N(32)
	v.free = v.high
	v.stranger, v.back = v.wide(), v.wide()
	v.origins[v.stranger], v.origins[v.back] = "the address of the stranger", "its own return address"
	if err := v.prepare(v); err != nil {
		return err
	}
	for _, a := range v.data {
		if err := v.Write(a.address, a.image); err != nil {
			return err
		}
	}
	image := make([]byte, 0, stackRoom)
	for at := v.low; at < v.high; at += 8 {
		var w uint64
		switch i := int64(at-v.sp) / 8; {
		case at < v.sp:
			w = v.word("a word of the stack that was never written")
		case i < int64(len(v.stack)):
			w = v.stack[i]
		default:
			w = v.word(fmt.Sprintf("a word of the caller's frame, %d bytes above its stack pointer", at-v.sp))
		}
		image = binary.LittleEndian.AppendUint64(image, w)
	}
	v.image = image[v.sp-v.low:]
	return v.Write(v.low, image)
}

func (v *visit) run(ctx context.Context, lost loss) error {
	if err := v.place(); err != nil {
		return err
	}
	regs, a := v.start.Clone(), v.Arch()
	for _, c := range a.Control {
		c.Draw(regs, v.random.Uint64())
	}
	for _, name := range a.Registers {
		if general(a, name) {
			regs.Set(name, v.word("what the caller had in "+name))
		}
	}
	var err error
	if v.before, err = v.Enter(regs, v.Symbol(v.function), v.sp, v.back, v.args...); err != nil {
		return err
	}
	for {
		if err := v.leg(ctx); err != nil {
			return err
		}
		if regs, err = v.Registers(); err != nil {
			return err
		}
		if regs.PC() != v.back {
			if err := v.receive(ctx, regs, lost); err != nil {
				return err
			}
			regs = v.met[len(v.met)-1].left
		}
		if v.enough > 0 && len(v.met) == v.enough {
			return nil
		}
		if regs.PC() == v.back {
			v.after = regs
			return v.look()
		}
	}
}

// leg runs the submission until it calls a stranger or returns.
func (v *visit) leg(ctx context.Context) error {
	if v.quick {
		return v.Arrive(ctx, v.function, v.stranger, v.back)
	}
	// One piece of memory, since each is read after each step: the part of the stack that the function may use, and the
	// data above it.
	regions := []record.Region{
		{
			Name: "stack and data", Address: record.Word(v.sp - frame), Initial: make([]byte, v.free-v.sp+frame),
			Stack: true,
		},
	}
	r, err := v.Record(ctx, v.function, regions, v.stranger, v.back)
	if r != nil {
		for i, s := range r.Steps {
			v.steps = append(v.steps, step{s, r, i})
		}
	}
	return err
}

// receive plays a stranger.
func (v *visit) receive(ctx context.Context, regs machine.Registers, lost loss) error {
	a := v.Arch()
	m := meeting{regs: regs, at: len(v.steps)}
	sp := regs.SP()
	if sp < v.low+64 || sp > v.sp {
		return v.fail(fmt.Sprintf("calls the stranger with %s = %#x, which is not within its stack", a.SP, sp))
	}
	var err error
	if a.Link != "" {
		m.back = regs.Get(a.Link)
	} else {
		if m.back, err = v.Word(sp); err != nil {
			return err
		}
		sp += 8
	}
	for at := sp; at < sp+uint64(v.gifts); at += 8 {
		w, err := v.Word(at)
		if err != nil {
			return err
		}
		m.gifts = append(m.gifts, w)
	}
	n := len(v.met)
	v.met = append(v.met, m)
	if len(v.met) > v.meetings {
		text, _ := v.decision(m.at)
		return v.fail(fmt.Sprintf(
			"calls the stranger %s, where %s expected%s", times(n+1), many(v.meetings, "call is", "calls are"), text,
		))
	}
	if v.meet != nil {
		if err := v.meet(v, n); err != nil {
			return err
		}
	}
	if _, inside := v.Program.Place(m.back); !inside && m.back != v.back {
		return v.fail("calls the stranger with a wrong return address: " + v.describe(m.back))
	}
	if slices.Contains(lost, recursion) && n == 0 && m.back != v.back {
		if err := v.recur(ctx); err != nil {
			return err
		}
	}
	regs = regs.Clone()
	// in a function that only jumped to the stranger nothing is left that could go wrong
	if slices.Contains(lost, vectors) && m.back != v.back {
		regs.Set(a.PC, v.Symbol("lab_change_vectors"))
		if err := v.SetRegisters(regs); err != nil {
			return err
		}
		stop, err := v.Run(ctx, m.back)
		if err != nil {
			return err
		}
		if stop.Kind != machine.Reached {
			return v.fail("calls the stranger, which " + stop.String())
		}
		if regs, err = v.Registers(); err != nil {
			return err
		}
	}
	regs.Set(a.PC, m.back)
	regs.Set(a.SP, sp)
	for _, name := range lost {
		if !slices.Contains([]string{memory, vectors, recursion}, name) {
			regs.Set(name, v.word("what the stranger left in "+name))
		}
	}
	regs.Set(a.Result, v.word(fmt.Sprintf("the result of call %d", n+1)))
	if len(lost) > 0 {
		flags, mask := "nzcv", uint64(0xf)<<28
		if a == machine.AMD64 {
			flags, mask = "eflags", 0x8d5
		}
		regs.Set(flags, regs.Get(flags)&^mask|v.random.Uint64()&mask)
	}
	if slices.Contains(lost, memory) {
		if err := v.overwrite(v.low, sp, "a word below the stack pointer, which the call overwrote"); err != nil {
			return err
		}
		if err := v.overwrite(sp, sp+uint64(v.gifts), "an argument on the stack, which the stranger overwrote"); err != nil {
			return err
		}
	}
	v.met[n].left = regs
	return v.SetRegisters(regs)
}

// recur calls the function again, as a stranger may, with other arguments on another part of the stack.
func (v *visit) recur(ctx context.Context) error {
	inner := &visit{
		call: v.call, Session: v.Session, random: v.random, start: v.start, origins: map[uint64]string{}, stray: -1,
		inner: true, quick: true,
	}
	err := inner.run(ctx, nil)
	for value, origin := range inner.origins {
		v.origins[value] = origin + " of the second call"
	}
	if trouble := new(grade.Trouble); errors.As(err, &trouble) {
		return v.fail("is called again by its stranger, and then " + trouble.Error())
	}
	return err
}

func (v *visit) overwrite(from, to uint64, origin string) error {
	var bytes []byte
	for at := from; at < to; at += 8 {
		bytes = binary.LittleEndian.AppendUint64(bytes, v.word(origin))
	}
	return v.Write(from, bytes)
}

// look reads what the memory holds at the end.
func (v *visit) look() error {
	for _, a := range v.data {
		a.image = make([]byte, len(a.image))
		if err := v.Read(a.address, a.image); err != nil {
			return err
		}
		v.left = append(v.left, a)
	}
	now := make([]byte, len(v.image))
	if err := v.Read(v.sp, now); err != nil {
		return err
	}
	for i := 8 * len(v.stack); i < len(now); i++ { // the arguments on the stack belong to the function
		if now[i] != v.image[i] {
			v.stray = i &^ 7
			break
		}
	}
	return nil
}

// fail is trouble at the last step.
func (v *visit) fail(what string) error {
	v.told = true
	t := &grade.Trouble{What: what, Doing: v.function}
	if n := len(v.steps); n > 0 {
		t.Place = v.steps[n-1].Place
	}
	return t
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

func many(n int, one, more string) string {
	switch n {
	case 0:
		return "no " + one
	case 1:
		return "one " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
