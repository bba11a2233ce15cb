package history

import (
	"fmt"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
)

// The judge is judged: it must accept what can be put in an order, and nothing else.
func TestHistoryJudgesRegisters(t *testing.T) {
	register := Spec[int, string, int]{Step: func(value int, in string, out int) (bool, int) {
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
		"or the old one":                         {true, []porcupine.Operation{write(1, 4, 7), read(2, 3, 0)}},
		"a read after it must see the new value": {false, []porcupine.Operation{write(1, 2, 7), read(3, 4, 0)}},
		"and a read before it cannot":            {false, []porcupine.Operation{read(1, 2, 7), write(3, 4, 7)}},
		"the old value is not read after the new": {
			false, []porcupine.Operation{write(1, 9, 7), read(2, 3, 7), read(4, 5, 0)},
		},
	} {
		if got := porcupine.CheckOperations(register.model(), c.operations); got != c.want {
			t.Errorf("%s: linearizable: %v, want %v\n%s", name, got, c.want, listing(c.operations))
		}
	}
}

// Stamps must be of the order in which things happen: a return before a later call.
func TestHistoryStampsCallsAndReturns(t *testing.T) {
	h := New[string, int](2)
	h.Do(0, "outer", func() int { return h.Do(1, "inner", func() int { return 1 }) })
	h.Do(1, "later", func() int { return 2 })
	var got []string
	for _, op := range h.Operations() {
		got = append(got, fmt.Sprintf("%d..%d %v %v", op.Call, op.Return, op.Input, op.Output))
	}
	if want := []string{"1..4 outer 1", "2..3 inner 1", "5..6 later 2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
