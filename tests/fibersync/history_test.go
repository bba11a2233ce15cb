package fibersync_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// A history is what several clients did to one thing and when: each operation's input
// of type I, its output of type O, and the stamps of its call and its return. Whether
// it is linearizable, which is to say whether the same could have come of doing the
// operations one at a time, each between its stamps, is for a spec to tell.
//
//	h := newHistory[string, int](8)
//	... client i: h.do(i, "add", func() int { return counter.add() })
//	... when all have ended: spec[int, string, int]{step: ...}.check(t, h)
type history[I, O any] struct {
	clock   atomic.Int64
	clients [][]porcupine.Operation
}

// newHistory is an empty history of so many clients.
func newHistory[I, O any](clients int) *history[I, O] {
	return &history[I, O]{clients: make([][]porcupine.Operation, clients)}
}

// do calls op as the client of that number and enters it. A client does one thing at a
// time; several clients may do things at once.
func (h *history[I, O]) do(client int, in I, op func() O) O {
	call := h.clock.Add(1)
	out := op()
	h.clients[client] = append(h.clients[client], porcupine.Operation{
		ClientId: client, Input: in, Output: out, Call: call, Return: h.clock.Add(1),
	})
	return out
}

// operations is all that was done, by the order of calls. All clients must have ended.
func (h *history[I, O]) operations() []porcupine.Operation {
	all := slices.Concat(h.clients...)
	slices.SortFunc(all, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	return all
}

// spec is how a thing behaves to which operations are done one at a time. Its state is an
// S, to start with start.
type spec[S comparable, I, O any] struct {
	start S
	// step tells whether an operation may have that output in that state, and which
	// state comes after it.
	step func(state S, in I, out O) (bool, S)
}

func (s spec[S, I, O]) model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return s.start },
		Step: func(state, in, out any) (bool, any) { return s.step(state.(S), in.(I), out.(O)) },
	}
}

// undecided is how long a history may be thought about. It bounds a search that may
// be exponential, not anything that is tested: a history of 240 operations takes milliseconds.
const undecided = time.Minute

// check marks the test as failed unless the history is linearizable, and shows it then.
// All clients must have ended.
func (s spec[S, I, O]) check(t testing.TB, h *history[I, O]) {
	t.Helper()
	all := h.operations()
	if verdict := porcupine.CheckOperationsTimeout(s.model(), all, undecided); verdict != porcupine.Ok {
		t.Errorf("linearizable: %v, want %v\n%s", verdict, porcupine.Ok, listing(all))
	}
}

// listing has a line for each operation.
func listing(all []porcupine.Operation) string {
	var text strings.Builder
	for _, op := range all {
		fmt.Fprintf(&text, "%6d..%-6d client %d: %+v -> %+v\n", op.Call, op.Return, op.ClientId, op.Input, op.Output)
	}
	return text.String()
}

// The judge is judged: it must accept what can be put in an order, and nothing else.
func TestHistoryJudgesRegisters(t *testing.T) {
	register := spec[int, string, int]{step: func(value int, in string, out int) (bool, int) {
		if in == "write" {
			return true, out
		}
		return out == value, value
	}}
	write := func(call, ret int64, v int) porcupine.Operation {
		return porcupine.Operation{ClientId: 0, Input: "write", Call: call, Output: v, Return: ret}
	}
	read := func(call, ret int64, v int) porcupine.Operation {
		return porcupine.Operation{ClientId: 1, Input: "read", Call: call, Output: v, Return: ret}
	}
	for name, c := range map[string]struct {
		want       bool
		operations []porcupine.Operation
	}{
		"a read beside a write sees the new value": {true, []porcupine.Operation{write(1, 4, 7), read(2, 3, 7)}},
		"or the old one":                          {true, []porcupine.Operation{write(1, 4, 7), read(2, 3, 0)}},
		"a read after it must see the new value":  {false, []porcupine.Operation{write(1, 2, 7), read(3, 4, 0)}},
		"and a read before it cannot":             {false, []porcupine.Operation{read(1, 2, 7), write(3, 4, 7)}},
		"the old value is not read after the new": {false, []porcupine.Operation{write(1, 9, 7), read(2, 3, 7), read(4, 5, 0)}},
	} {
		if got := porcupine.CheckOperations(register.model(), c.operations); got != c.want {
			t.Errorf("%s: linearizable: %v, want %v\n%s", name, got, c.want, listing(c.operations))
		}
	}
}

// Stamps must be of the order in which things happen: a return before a later call.
func TestHistoryStampsCallsAndReturns(t *testing.T) {
	h := newHistory[string, int](2)
	h.do(0, "outer", func() int { return h.do(1, "inner", func() int { return 1 }) })
	h.do(1, "later", func() int { return 2 })
	var got []string
	for _, op := range h.operations() {
		got = append(got, fmt.Sprintf("%d..%d %v %v", op.Call, op.Return, op.Input, op.Output))
	}
	if want := []string{"1..4 outer 1", "2..3 inner 1", "5..6 later 2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
