package verify

import (
	"maps"
	"slices"

	"fiberlab/labs/explore"
)

// The memory model is RC11, of which this is a part: each value that a load returns here is one that RC11 allows, but
// not the other way round. A store always goes to the end of its object's modification order, and an atomic
// read-modify-write reads the newest store. A load may read any store from the newest down to the newest that its
// thread has seen.
//
// What a thread has seen is its view: for each object the index of a store. Another thread takes over the view, and the
// clock, with an acquire of what was released. Views go by seq_cst fences, too; clocks do not.

// clock has, for each thread, the time of its last step that happened before.
type clock [mostThreads]uint32

func (c *clock) join(other clock) {
	for i := range c {
		c[i] = max(c[i], other[i])
	}
}

// view has, for each object, the index of the newest store that was seen.
type view map[*object]int

func (v view) join(other view) {
	for x, i := range other {
		v[x] = max(v[x], i)
	}
}

// knowledge is what a thread knows, or what a store carries.
type knowledge struct {
	hb   clock
	seen view
}

func newKnowledge() knowledge { return knowledge{seen: view{}} }

func (k *knowledge) join(other knowledge) {
	k.hb.join(other.hb)
	k.seen.join(other.seen)
}

func (k *knowledge) clone() knowledge { return knowledge{k.hb, maps.Clone(k.seen)} }

// object is the bytes that the program accesses by one address and size, within a word of 8 bytes.
type object struct {
	address uint64
	size    int
	stores  []store // in modification order

	// For each thread, the time of its last access; zero: none.
	plainRead, plainWrite, atomicRead, atomicWrite clock

	rewriter *thread   // whose plain write is not among the stores yet
	owner    *thread   // of a mutex
	unlocked knowledge // of a mutex: at the last unlock
}

type store struct {
	value  uint64
	step   int
	thread int
	time   uint32
	all    knowledge // what an acquire learns
	own    knowledge // of it, what does not come from the store that a read-modify-write read
}

// memory has all objects, by the word they are in.
type memory struct {
	words map[uint64][]*object
	sc    view // the seq_cst stores, and what threads had seen at seq_cst fences
	items items
}

func newMemory() memory { return memory{map[uint64][]*object{}, view{}, items{}} }

func (m *memory) object(address uint64, size int) *object {
	for _, x := range m.words[address>>3] {
		if x.address == address && x.size == size {
			return x
		}
	}
	x := &object{address: address, size: size, unlocked: newKnowledge()}
	m.words[address>>3] = append(m.words[address>>3], x)
	return x
}

func (x *object) overlaps(address uint64, size int) bool {
	return x.address < address+uint64(size) && address < x.address+uint64(x.size)
}

// unordered reports whether another thread's access did not happen before the next step of t, and whose.
func (t *thread) unordered(accesses ...clock) (other int, found bool) {
	for _, a := range accesses {
		for i, time := range a {
			if i != t.number && time > t.hb[i] {
				return i, true
			}
		}
	}
	return 0, false
}

func (e *execution) race(t *thread, write bool, other int, otherWrites bool, address uint64) error {
	verb := map[bool]string{false: "reads", true: "writes"}
	return e.fault("race", "Thread %d %s memory that thread %d %s, and nothing orders the two accesses, which are not "+
		"both atomic (address %#x).", t.number, verb[write], other, verb[otherWrites], address)
}

// plain notes a plain access, before it happens.
func (e *execution) plain(t *thread, address, size uint64, write bool) error {
	if err := e.checkHeap(t, address, size); err != nil {
		return err
	}
	if e.silent++; e.silent > silentLimit {
		return e.callEndless(t)
	}
	for size > 0 {
		piece := min(size, 8-address&7)
		if err := e.plainPiece(t, address, int(piece), write); err != nil {
			return err
		}
		address, size = address+piece, size-piece
	}
	return nil
}

func (e *execution) plainPiece(t *thread, address uint64, size int, write bool) error {
	s := explore.Step{
		Thread: t.number, PC: explore.Address(t.pc), Op: "read", Address: explore.Address(address), Size: size,
	}
	if write {
		s.Op = "write"
	} else if size&(size-1) == 0 {
		value, err := e.value(address, size)
		if err != nil {
			return err
		}
		s.Value = &value
	}
	e.step(s)
	own := e.memory.object(address, size)
	for _, x := range e.memory.words[address>>3] {
		if !x.overlaps(address, size) {
			continue
		}
		if other, races := t.unordered(x.plainWrite, x.atomicWrite); races {
			return e.race(t, write, other, true, address)
		}
		if !write {
			continue
		}
		if other, races := t.unordered(x.plainRead, x.atomicRead); races {
			return e.race(t, write, other, false, address)
		}
		if len(x.stores) > 0 {
			x.rewriter = t
		}
	}
	// A release that comes before this access, in the same thread, does not order it.
	if write {
		own.plainWrite[t.number] = t.time + 1
	} else {
		own.plainRead[t.number] = t.time + 1
	}
	return nil
}

// atomic returns the object of an atomic access, which does not race and has a store.
func (e *execution) atomic(t *thread, address uint64, size int, write bool) (*object, error) {
	x := e.memory.object(address, size)
	for _, y := range e.memory.words[address>>3] {
		if !y.overlaps(address, size) {
			continue
		}
		if y != x {
			if _, mixed := t.unordered(y.atomicRead, y.atomicWrite); mixed {
				return nil, e.fault("limit", "Atomic accesses of %d and %d bytes overlap: use one size.", y.size, size)
			}
			if write && len(y.stores) > 0 {
				y.rewriter = t
			}
		}
		if other, races := t.unordered(y.plainWrite); races {
			return nil, e.race(t, write, other, true, address)
		}
		if other, races := t.unordered(y.plainRead); races && write {
			return nil, e.race(t, write, other, false, address)
		}
	}
	if len(x.stores) > 0 && x.rewriter == nil {
		return x, nil
	}
	value, err := e.value(address, size)
	if err != nil {
		return nil, err
	}
	s := store{value: value, step: -1, all: newKnowledge(), own: newKnowledge()}
	if x.rewriter != nil {
		s.thread, s.time = x.rewriter.number, x.plainWrite[x.rewriter.number]
	}
	x.rewriter = nil
	x.stores = append(x.stores, s)
	return x, nil
}

// oldest is the index of the newest store of x that t has seen, or that it must see since its access is seq_cst.
func (e *execution) oldest(t *thread, x *object, sc bool) int {
	i := t.seen[x]
	if sc {
		i = max(i, e.memory.sc[x])
	}
	for k := len(x.stores) - 1; k > i; k-- {
		if s := x.stores[k]; s.time <= t.hb[s.thread] {
			return k
		}
	}
	return i
}

// read is what thread t learns from the i-th store of x.
func (e *execution) read(t *thread, x *object, i int, o order) {
	x.atomicRead[t.number] = t.time
	t.seen[x] = max(t.seen[x], i)
	if o.acquires() {
		t.join(x.stores[i].all)
	} else {
		t.acquired.join(x.stores[i].all)
	}
}

// write appends a store. rmw: it follows the store that it read.
func (e *execution) write(t *thread, x *object, value uint64, o order, rmw bool) error {
	s := store{value: value, step: len(e.steps) - 1, thread: t.number, time: t.time, own: t.released.clone()}
	i := len(x.stores)
	t.seen[x] = i
	if o.releases() {
		s.own = t.clone()
	}
	for k := i - 1; k >= 0; k-- {
		if x.stores[k].thread == t.number && x.stores[k].step >= 0 { // a release sequence of RC11
			s.own.join(x.stores[k].own)
			break
		}
	}
	s.all = s.own.clone()
	if rmw {
		s.all.join(x.stores[i-1].all)
	}
	x.stores = append(x.stores, s)
	x.atomicWrite[t.number] = t.time
	if o == seqCst {
		e.memory.sc[x] = i
	}
	return e.set(x.address, x.size, value)
}

// fence orders what stands around it.
func (e *execution) fence(t *thread, o order) {
	if o.acquires() {
		t.join(t.acquired)
	}
	if o == seqCst {
		t.seen.join(e.memory.sc)
		e.memory.sc.join(t.seen)
	}
	if o.releases() {
		t.released = t.clone()
	}
}

// mayNotOverlook has all threads see the newest store of each object that t has read or written: it yields, and a
// loop that waits ends by what others did.
func (e *execution) mayNotOverlook(t *thread) {
	for x := range t.seen {
		for _, u := range e.threads {
			u.seen[x] = max(len(x.stores)-1, 0)
		}
	}
}

// items are the values that threads hand over: whether the last call for it put it, or else took it, by the order of
// this execution. The program's own search asks for more: that the last call led to the next one. What led to a call is
// executed before it, so a program that is right does not fail here. One that is wrong and deceives its own search has
// schedules in which the calls come in another order. The sample draws from these, too.
type items map[uint64]bool

// end is a fault if a value was put and not taken.
func (i items) end(e *execution) error {
	for _, value := range slices.Sorted(maps.Keys(i)) {
		if i[value] {
			return e.fault("lost", "All threads have ended, and %d, which was put, was not taken.", value)
		}
	}
	return nil
}
