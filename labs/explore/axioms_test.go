package explore_test

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/explore"
)

// relation is a set of pairs of events: bit b of relation[a] is set if (a, b) is in it.
type relation []uint32

func (r relation) add(a, b int)      { r[a] |= 1 << b }
func (r relation) has(a, b int) bool { return r[a]>>b&1 != 0 }

func or(of ...relation) relation {
	all := make(relation, len(of[0]))
	for _, r := range of {
		for a := range r {
			all[a] |= r[a]
		}
	}
	return all
}

// then returns the composition of relations.
func then(first relation, rest ...relation) relation {
	for _, next := range rest {
		both := make(relation, len(first))
		for a, row := range first {
			for ; row != 0; row &= row - 1 {
				both[a] |= next[bits.TrailingZeros32(row)]
			}
		}
		first = both
	}
	return first
}

func closure(r relation) relation {
	r = slices.Clone(r)
	for b := range r {
		for a := range r {
			if r.has(a, b) {
				r[a] |= r[b]
			}
		}
	}
	return r
}

func irreflexive(r relation) bool {
	for a := range r {
		if r.has(a, a) {
			return false
		}
	}
	return true
}

func acyclic(r relation) bool { return irreflexive(closure(r)) }

// event is a step of a litmus test. The first event of each object stores 0 and belongs to no thread.
type event struct {
	kind                    byte // R, W, X, C or F, as in testdata/litmus/drawn.c
	object                  byte
	thread                  int
	value, expected         uint32 // that it stores; that a compare-and-swap wants to read
	order                   int    // as compilers number them
	reads, writes, together bool   // together: it reads and writes in one step
}

func (e event) sc() bool       { return e.order == 5 && e.thread >= 0 }
func (e event) acquires() bool { return e.order == 2 || e.order >= 4 }
func (e event) releases() bool { return e.order >= 3 }

// drawn is a litmus test.
type drawn struct {
	text   string
	events []event
}

// draw makes a litmus test of at most 7 steps and 4 values read, 3 of them in one thread.
func draw(r *rand.Rand) (d drawn) {
	d.events = []event{{kind: 'W', object: 'x', thread: -1}, {kind: 'W', object: 'y', thread: -1}}
	orders := [][]int{{0}, {0, 5}, {0, 2, 3, 4, 5}}[r.IntN(3)]
	steps, reads := 0, 0
	for thread := range 2 + r.IntN(3) {
		if thread > 0 {
			d.text += "|"
		}
		own := 0
		for range 1 + r.IntN(3) {
			e := event{
				kind: "WWWRRRRFXC"[r.IntN(10)], object: "xy"[r.IntN(2)], thread: thread,
				value: 1 + r.Uint32N(3), expected: r.Uint32N(3), order: orders[r.IntN(len(orders))],
			}
			if steps++; steps > 7 || (reads == 4 || own == 3) && strings.IndexByte("RXC", e.kind) >= 0 {
				e.kind = 'F'
			}
			switch e.kind {
			case 'R':
				e.order = map[int]int{0: 0, 2: 2, 3: 2, 4: 2, 5: 5}[e.order]
				d.text += fmt.Sprintf("R%c%d", e.object, e.order)
			case 'W':
				e.order = map[int]int{0: 0, 2: 3, 3: 3, 4: 3, 5: 5}[e.order]
				d.text += fmt.Sprintf("W%c%d%d", e.object, e.value, e.order)
			case 'X':
				d.text += fmt.Sprintf("X%c%d%d", e.object, e.value, e.order)
			case 'C':
				d.text += fmt.Sprintf("C%c%d%d%d", e.object, e.expected, e.value, e.order)
			case 'F':
				e.object, e.order = 0, 2+r.IntN(4)
				d.text += fmt.Sprintf("F%d", e.order)
			}
			if e.kind != 'W' && e.kind != 'F' {
				reads++
				own++
			}
			d.events = append(d.events, e)
		}
	}
	return d
}

// outcomes returns what RC11 allows if the seq_cst order also agrees with program order and reads-from, as it does in
// the explorer. It tries every reads-from relation and every modification order.
func (d drawn) outcomes() (all []uint32) {
	var reads []int
	for i, e := range d.events {
		if strings.IndexByte("RXC", e.kind) >= 0 {
			reads = append(reads, i)
		}
	}
	from := make([]int, len(d.events)) // for each event that reads: the event that it reads from
	var choose func(next int)
	choose = func(next int) {
		if next < len(reads) {
			for w, e := range d.events {
				if w != reads[next] && e.object == d.events[reads[next]].object && e.kind != 'R' {
					from[reads[next]] = w
					choose(next + 1)
				}
			}
			return
		}
		outcome := uint32(0)
		for _, r := range reads {
			outcome = outcome*4 + d.events[from[r]].value
		}
		if !slices.Contains(all, outcome) && d.allowed(from) {
			all = append(all, outcome)
		}
	}
	choose(0)
	slices.Sort(all)
	return all
}

// allowed reports whether the events may read from these.
func (d drawn) allowed(from []int) bool {
	events, n := slices.Clone(d.events), len(d.events)
	none := func() relation { return make(relation, n) }
	sb, rf, same := none(), none(), none()
	for i := range events {
		e := &events[i]
		e.reads = strings.IndexByte("RXC", e.kind) >= 0
		e.writes = e.kind == 'W' || e.kind == 'X' || e.kind == 'C' && d.events[from[i]].value == e.expected
		e.together = e.reads && e.writes
		if e.kind == 'C' && !e.writes {
			e.order = 0
		}
		if e.reads {
			rf.add(from[i], i)
		}
		for k := range i {
			if events[k].thread < 0 && e.thread >= 0 || events[k].thread == e.thread && e.thread >= 0 {
				sb.add(k, i)
			}
		}
		for k := range events {
			if e.object != 0 && events[k].object == e.object {
				same.add(i, k)
			}
		}
	}
	for i, e := range events {
		if e.reads && !events[from[i]].writes {
			return false
		}
	}
	if !acyclic(or(sb, rf)) {
		return false
	}
	hb := closure(or(sb, synchronizes(events, from, sb)))
	if !irreflexive(hb) {
		return false
	}
	x := execution{events, from, sb, rf, same, hb}
	return x.order(none(), []byte{'x', 'y'})
}

// synchronizes returns the pairs of a release and an acquire that form happens-before.
func synchronizes(events []event, from []int, sb relation) relation {
	sw := make(relation, len(events))
	for r, e := range events {
		if !e.reads {
			continue
		}
		// The heads of the release sequences that r reads from: stores of the same thread to the same object go on with
		// one, and a chain of read-modify-writes does.
		for w := from[r]; ; w = from[w] {
			for head := range events {
				own := events[head].writes && events[head].object == e.object && events[head].thread >= 0 && sb.has(head, w)
				if head != w && !own {
					continue
				}
				for a, f := range events {
					if !f.releases() || a != head && !(f.kind == 'F' && sb.has(a, head)) {
						continue
					}
					for b, g := range events {
						if g.acquires() && (b == r || g.kind == 'F' && sb.has(r, b)) {
							sw.add(a, b)
						}
					}
				}
			}
			if !events[w].together {
				break
			}
		}
	}
	return sw
}

// execution is one without a modification order.
type execution struct {
	events           []event
	from             []int
	sb, rf, same, hb relation
}

// order reports whether some modification order of these objects, added to mo, makes a consistent execution.
func (x execution) order(mo relation, objects []byte) bool {
	if len(objects) == 0 {
		return x.consistent(mo)
	}
	var stores []int
	for i, e := range x.events {
		if e.writes && e.object == objects[0] && e.thread >= 0 {
			stores = append(stores, i)
		}
	}
	var place func(k int) bool
	place = func(k int) bool {
		if k < len(stores) {
			for i := k; i < len(stores); i++ {
				stores[k], stores[i] = stores[i], stores[k]
				found := place(k + 1)
				stores[k], stores[i] = stores[i], stores[k]
				if found {
					return true
				}
			}
			return false
		}
		more, before := slices.Clone(mo), int(objects[0]-'x')
		whole := []int{before}
		for _, s := range stores {
			if x.events[s].together && x.from[s] != whole[len(whole)-1] {
				return false
			}
			for _, w := range whole {
				more.add(w, s)
			}
			whole = append(whole, s)
		}
		return x.order(more, objects[1:])
	}
	return place(0)
}

// consistent reports whether coherence and the order of seq_cst events hold.
func (x execution) consistent(mo relation) bool {
	n := len(x.events)
	fr, self, accesses, fences := make(relation, n), make(relation, n), make(relation, n), make(relation, n)
	elsewhere, here := make(relation, n), make(relation, n)
	for i, e := range x.events {
		self.add(i, i)
		if e.reads {
			fr[i] = mo[x.from[i]] &^ (1 << i)
		}
		if e.sc() && e.kind == 'F' {
			fences.add(i, i)
		} else if e.sc() {
			accesses.add(i, i)
		}
		here[i] = x.hb[i] & x.same[i]
		if e.thread >= 0 {
			elsewhere[i] = x.sb[i] &^ x.same[i]
		}
	}
	eco := closure(or(x.rf, mo, fr))
	if !irreflexive(then(x.hb, eco)) {
		return false
	}
	scb := or(x.sb, then(elsewhere, x.hb, elsewhere), here, mo, fr)
	maybe := or(x.hb, self)
	psc := or(
		then(or(accesses, then(fences, maybe)), scb, or(accesses, then(maybe, fences))),
		then(fences, or(x.hb, then(x.hb, eco, x.hb)), fences),
	)
	return acyclic(or(psc, x.sb, x.rf))
}

// The explorer finds exactly the outcomes that the axioms allow, with the search that leaves out equivalent schedules.
func TestAxioms(t *testing.T) {
	tests := 400
	if testing.Short() {
		tests = 50
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	p, _, err := toolsOf(t, "").Build(context.Background(), []string{"testdata/litmus/drawn.c"}, explore.BuildOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	for range sample(make([]struct{}, tests)) {
		d := draw(random)
		t.Setenv("LITMUS", d.text)
		r, err := p.Run(context.Background(), explore.Options{All: true})
		require.NoError(t, err, d.text)
		require.True(t, r.Complete, d.text)
		require.Equal(t, d.outcomes(), r.Outcomes, "the litmus test %s", d.text)
	}
}
