package explore

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// orders are the memory orders, in words.
var orders = map[string]string{
	"rlx": "relaxed", "acq": "acquire", "rel": "release", "acq_rel": "acq_rel", "sc": "seq_cst", "con": "consume",
}

// Does says what the step with that index does.
func (r *Result) Does(i int) string {
	s := r.Steps[i]
	name := r.name(s.Address, s)
	order := ""
	if o := orders[s.Order]; o != "" {
		order = " (" + o + ")"
	}
	var said string
	switch s.Op {
	case "load":
		said = fmt.Sprintf("reads %s = %s%s%s", name, s.number(s.Value), order, r.missed(i))
	case "read":
		said = "reads " + name
		if s.Value != nil {
			said += " = " + s.number(s.Value)
		}
	case "store":
		said = fmt.Sprintf("%s = %s%s", name, s.number(s.Stored), order)
	case "write":
		said = "writes " + name
	case "rmw", "cas":
		said = fmt.Sprintf("%s: %s -> %s%s", name, s.number(s.Value), s.number(s.Stored), order)
		if s.Stored == nil {
			said = fmt.Sprintf("%s is %s: fails%s%s", name, s.number(s.Value), order, r.missed(i))
		}
	case "fence":
		said = "a fence" + order
	case "lock":
		said = "locks " + name
	case "trylock":
		said = "tries to lock " + name
	case "unlock":
		said = "unlocks " + name
	case "park":
		said = "parks"
	case "unpark":
		said = "unparks" + thread(s.Stored)
	case "start":
		said = "starts" + thread(s.Stored)
	case "join":
		said = "joins" + thread(s.Stored)
	case "end":
		said = "ends"
	case "free":
		said = "frees " + name
	case "yield":
		said = "yields"
	case "stop":
		said = "stops and never goes on"
	case "put":
		said = "puts " + item(s.Stored)
	case "take":
		said = "takes " + item(s.Value)
	case "choose":
		said = "chooses " + item(s.Value)
	default:
		said = s.Op
	}
	if s.Note != "" {
		said += ": " + s.Note
	}
	return said
}

// thread names a thread by its number.
func thread(number *uint64) string {
	if number == nil {
		return ""
	}
	return fmt.Sprintf(" thread %d", *number)
}

// item names a value that was put or taken.
func item(value *uint64) string {
	if value == nil {
		return "?"
	}
	return Step{Size: 8}.number(value)
}

// missed says which newer value a load has not seen.
func (r *Result) missed(i int) string {
	s := r.Steps[i]
	if !s.Stale {
		return ""
	}
	from := "its first value"
	if s.From != nil && *s.From >= 0 {
		from = fmt.Sprintf("written in step %d", *s.From+1)
	}
	newer := r.newest(i)
	if newer < 0 {
		return ", an old value, " + from
	}
	return fmt.Sprintf(", %s, although step %d has stored %s: nothing orders them", from, newer+1,
		r.Steps[newer].number(r.Steps[newer].Stored))
}

// newest returns the last step before i that wrote what step i reads, or -1.
func (r *Result) newest(i int) int {
	for j := i - 1; j >= 0; j-- {
		if w := r.Steps[j]; w.Address == r.Steps[i].Address && w.writes() {
			return j
		}
	}
	return -1
}

// writes reports whether the step has written an atomic object.
func (s Step) writes() bool {
	return s.Stored != nil && (s.Op == "store" || s.Op == "rmw" || s.Op == "cas")
}

// number returns a value of the step as a signed number, or a large one, such as an address, in hexadecimal.
func (s Step) number(v *uint64) string {
	if v == nil {
		return "?"
	}
	n := int64(*v)
	switch s.Size {
	case 1:
		n = int64(int8(*v))
	case 2:
		n = int64(int16(*v))
	case 4:
		n = int64(int32(*v))
	}
	if s.Size == 8 && n >= 1<<16 {
		return fmt.Sprintf("%#x", *v)
	}
	return strconv.FormatInt(n, 10)
}

// name returns how the source names the memory of a step.
func (r *Result) name(at Address, s Step) string {
	if n := r.program.read().name(at, s.Size); n != "" {
		return n
	}
	if s.Block > 0 {
		if s.Offset == 0 {
			return fmt.Sprintf("block %d", s.Block)
		}
		return fmt.Sprintf("block %d + %d", s.Block, s.Offset)
	}
	return fmt.Sprintf("%#x", uint64(at))
}

// where returns the line of a step.
func (r *Result) where(i int) string { return r.program.read().place(r.Steps[i].PC).String() }

// has reports whether i is the index of a step.
func (r *Result) has(i int) bool { return i >= 0 && i < len(r.Steps) }

// Sentence returns one sentence that names the fault; empty if there is none.
func (r *Result) Sentence() string {
	f := r.Fault
	switch {
	case f == nil:
		return ""
	case f.Kind == "race" && r.has(f.A) && r.has(f.B):
		a, b := r.Steps[f.A], r.Steps[f.B]
		return fmt.Sprintf(
			"a data race: %s of thread %d and %s of thread %d both access %s, one of them writes, and nothing orders them.",
			r.where(f.A), a.Thread, r.where(f.B), b.Thread, r.name(b.Address, b),
		)
	case f.Kind == "check":
		return fmt.Sprintf("a check fails: %s.", strings.TrimSuffix(f.Claim, "."))
	case f.Kind == "double-take" && r.has(f.A) && r.has(f.B):
		a, b := r.Steps[f.A], r.Steps[f.B]
		return fmt.Sprintf("a double take: thread %d in %s and thread %d in %s both take %s, which was put once.",
			a.Thread, r.where(f.A), b.Thread, r.where(f.B), item(b.Value))
	case f.Kind == "lost":
		return "a lost task: " + cmp.Or(r.lost(), r.plainly())
	case slices.ContainsFunc(f.Waits, Wait.stopped):
		return r.heldUp()
	case f.Kind == "livelock":
		return "a livelock: " + r.plainly()
	case f.Kind == "deadlock":
		return r.stuck()
	}
	return r.plainly()
}

// lost says which values were put and not taken.
func (r *Result) lost() string {
	put := map[uint64]int{}
	for i, s := range r.Steps {
		switch {
		case s.Op == "put" && s.Stored != nil:
			put[*s.Stored] = i
		case s.Op == "take" && s.Value != nil:
			delete(put, *s.Value)
		}
	}
	var said []string
	for _, i := range slices.Sorted(maps.Values(put)) {
		s := r.Steps[i]
		said = append(said,
			fmt.Sprintf("%s, which thread %d puts in %s, is never taken", item(s.Stored), s.Thread, r.where(i)))
	}
	if said == nil {
		return ""
	}
	return strings.Join(said, "; ") + "."
}

// plainly returns what the runtime says of the fault, without what waits says with the lines.
func (r *Result) plainly() string {
	said := r.Fault.Text
	if len(r.Fault.Waits) > 0 {
		said, _, _ = strings.Cut(said, ". ")
	}
	return strings.TrimSuffix(strings.Replace(said, "No thread", "no thread", 1), ".") + "."
}

// stopped reports whether the thread has stopped and never goes on.
func (w Wait) stopped() bool { return w.For == "stop" }

// heldUp says which threads have stopped, and what they hold.
func (r *Result) heldUp() string {
	var said []string
	for _, w := range r.Fault.Waits {
		if !w.stopped() {
			continue
		}
		one := fmt.Sprintf("thread %d has stopped at %s", w.Thread, r.program.read().place(w.PC))
		for _, other := range r.Fault.Waits {
			if name := r.name(other.Address, Step{}); other.For == "lock" && other.Holder == w.Thread &&
				!strings.HasSuffix(one, name) {
				one += ", and holds " + name
			}
		}
		said = append(said, one)
	}
	return strings.Join(said, "; ") + ". The others cannot go on."
}

// stuck names a deadlock by what the threads wait for.
func (r *Result) stuck() string {
	waits, locks := r.Fault.Waits, map[Address]bool{} // locks: those whose holder waits for a lock
	held := func(w Wait, by string) bool {
		return w.For == "lock" &&
			slices.ContainsFunc(waits, func(h Wait) bool { return h.Thread == w.Holder && h.For == by })
	}
	for _, w := range waits {
		if w.For == "lock" && w.Holder == w.Thread {
			return fmt.Sprintf("a deadlock: thread %d waits for %s, which it holds itself.", w.Thread,
				r.name(w.Address, Step{}))
		}
		if held(w, "lock") {
			locks[w.Address] = true
		}
	}
	switch {
	case slices.ContainsFunc(waits, func(w Wait) bool { return held(w, "park") }):
		return "a deadlock: a thread sleeps and holds a lock, and another thread waits for that lock."
	case slices.ContainsFunc(waits, func(w Wait) bool { return w.For == "park" }):
		return "a lost or missing wake-up: a thread sleeps, and no thread is left that could wake it."
	case len(locks) > 1:
		return fmt.Sprintf("a deadlock of %d locks: each is held by a thread that waits for another one.", len(locks))
	}
	return "a deadlock: " + r.plainly()
}

// Reasons returns sentences that say how the fault came about: what each thread waits for, which order is missing. They
// name steps by their numbers, from 1. There are none without a fault.
func (r *Result) Reasons() (lines []string) {
	f := r.Fault
	if f == nil {
		return nil
	}
	for _, w := range f.Waits {
		lines = append(lines, r.waits(w))
	}
	if f.Kind == "race" && r.has(f.A) && r.has(f.B) {
		lines = append(lines, fmt.Sprintf("Steps %d and %d race.%s", f.A+1, f.B+1, r.lacks()))
	}
	if slices.Contains([]string{"check", "use-after-free", "double-free", "double-take", "lost"}, f.Kind) {
		lines = append(lines, r.aba()...)
	}
	if said := r.lost(); f.Kind == "deadlock" && said != "" {
		lines = append(lines, said)
	}
	if said := r.noReturn(); said != "" {
		lines = append(lines, said)
	}
	for i, s := range r.Steps {
		if f.Kind != "race" && s.Stale {
			name := r.name(s.Address, s)
			lines = append(lines, fmt.Sprintf("Step %d reads an old value of %s, which C allows here.", i+1, name))
			break
		}
	}
	return lines
}

// noReturn says from which step on every schedule fails.
func (r *Result) noReturn() string {
	switch {
	case r.NoReturn == nil:
		return ""
	case *r.NoReturn < 0:
		return "Every schedule fails."
	}
	return fmt.Sprintf("From step %d on, every schedule fails.", *r.NoReturn+1)
}

// waits says what a thread waits for.
func (r *Result) waits(w Wait) string {
	said := fmt.Sprintf("Thread %d waits in %s ", w.Thread, r.program.read().place(w.PC))
	switch w.For {
	case "lock":
		return said + fmt.Sprintf("for %s, which thread %d holds.", r.name(w.Address, Step{}), w.Holder)
	case "join":
		return said + fmt.Sprintf("for the end of thread %d.", w.Holder)
	case "park":
		return said + "for an unpark."
	case "stop":
		return fmt.Sprintf("Thread %d has stopped at %s.", w.Thread, r.program.read().place(w.PC))
	}
	return said + "for another thread to change what it reads."
}

// aba says which compare-and-swap found a value that had changed and come back.
func (r *Result) aba() []string {
	for i, s := range r.Steps {
		if s.Op != "cas" || s.Stored == nil || s.Value == nil {
			continue
		}
		read, changed, back := -1, -1, -1 // the thread read it; another one wrote something else; it was written again
		for j, t := range r.Steps[:i] {
			switch {
			case t.Address != s.Address:
			case t.Thread == s.Thread:
				read, changed, back = -1, -1, -1
				if t.Value != nil && *t.Value == *s.Value && t.Stored == nil {
					read = j
				}
			case read >= 0 && t.writes() && *t.Stored != *s.Value:
				changed, back = j, -1
			case changed >= 0 && t.writes():
				back = j
			}
		}
		if back >= 0 {
			return []string{fmt.Sprintf("Step %d finds in %s the value that step %d read, but step %d had changed it, and "+
				"step %d changed it back: an ABA problem.", i+1, r.name(s.Address, s), read+1, changed+1, back+1)}
		}
	}
	return nil
}

// lacks says which store or load between two steps that race would have ordered them with a stronger memory order.
func (r *Result) lacks() string {
	f := r.Fault
	a, b := f.A, f.B
	if a > b {
		a, b = b, a
	}
	for i := b - 1; i > a; i-- { // a load by the second thread, of what the first one has written after its access
		read := r.Steps[i]
		if read.Thread != r.Steps[b].Thread || read.From == nil || *read.From <= a || !r.has(*read.From) {
			continue
		}
		from := *read.From
		wrote := r.Steps[from]
		if wrote.Thread != r.Steps[a].Thread {
			continue
		}
		var weak []string
		if (wrote.Order == "rlx" || wrote.Order == "acq") && !r.fenced(wrote.Thread, a, from, "acq") {
			weak = append(weak, fmt.Sprintf("step %d lacks a release (%s)", from+1, r.where(from)))
		}
		if (read.Order == "rlx" || read.Order == "rel") && !r.fenced(read.Thread, i, b, "rel") {
			weak = append(weak, fmt.Sprintf("step %d lacks an acquire (%s)", i+1, r.where(i)))
		}
		if weak != nil {
			return fmt.Sprintf(" Step %d reads what step %d stored, but %s.", i+1, from+1, strings.Join(weak, ", and "))
		}
	}
	return ""
}

// fenced reports whether the thread has a fence between two steps, and not one of that order only.
func (r *Result) fenced(thread, first, last int, but string) bool {
	for _, s := range r.Steps[first:last] {
		if s.Thread == thread && s.Op == "fence" && s.Order != but && s.Order != "rlx" {
			return true
		}
	}
	return false
}
