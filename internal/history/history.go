// Package history judges what clients did to one thing at once.
package history

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	_ "fiberlab/internal/platform"
)

// A History records what several clients did to one object, and when. Each operation has its input of type I, its
// output of type O, and the stamps of its call and its return. A Spec decides whether the history is linearizable:
// whether the operations, done one at a time, each between its stamps, could have had the same outputs.
//
//	h := history.New[string, int](8)
//	... client i: h.Do(i, "add", func() int { return counter.add() })
//	... when all have ended: history.Spec[int, string, int]{Step: ...}.Check(t, h)
type History[I, O any] struct {
	clock   atomic.Int64
	clients [][]porcupine.Operation
}

// New is an empty history of so many clients.
func New[I, O any](clients int) *History[I, O] {
	return &History[I, O]{clients: make([][]porcupine.Operation, clients)}
}

// Do calls op as the client of that number and enters it. A client does one thing at a
// time; several clients may do things at once.
func (h *History[I, O]) Do(client int, in I, op func() O) O {
	call := h.clock.Add(1)
	out := op()
	h.clients[client] = append(h.clients[client], porcupine.Operation{
		ClientId: client, Input: in, Output: out, Call: call, Return: h.clock.Add(1),
	})
	return out
}

// Operations is all that was done, by the order of calls. All clients must have ended.
func (h *History[I, O]) Operations() []porcupine.Operation {
	all := slices.Concat(h.clients...)
	slices.SortFunc(all, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	return all
}

// Spec is how a thing behaves to which operations are done one at a time. Its state is an
// S, to start with Start.
type Spec[S comparable, I, O any] struct {
	Start S
	// Step reports whether an operation may have that output in that state, and which
	// state comes after it.
	Step func(state S, in I, out O) (bool, S)
}

func (s Spec[S, I, O]) model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return s.Start },
		Step: func(state, in, out any) (bool, any) { return s.Step(state.(S), in.(I), out.(O)) },
	}
}

// undecided is how long a history may be thought about. It bounds a search that may
// be exponential, not anything that is tested: a history of 240 operations takes milliseconds.
const undecided = time.Minute

// Check marks the test as failed unless the history is linearizable, and shows it then.
// All clients must have ended.
func (s Spec[S, I, O]) Check(t testing.TB, h *History[I, O]) {
	t.Helper()
	all := h.Operations()
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
