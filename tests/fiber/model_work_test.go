package fiber_test

import (
	"fmt"
	"hash/fnv"

	"fiberlab/fiber"
	"fiberlab/tests/internal/cbody"
)

// work switches somewhere from within one thing or another that a function may do.
func (w *world) work(m *member, depth int) {
	here := func() { w.work(m, depth-1) }
	way := w.rng.IntN(7)
	if depth == 0 {
		way = 0
	}
	switch way {
	default:
		w.step(m)
	case 1: // on a Go stack that has to grow for it
		var recurse func(levels int) int
		recurse = func(levels int) int {
			var words [50]int
			words[levels%50] = levels
			if levels == 0 {
				here()
			} else {
				words[0] += recurse(levels - 1)
			}
			return words[0] + words[levels%50]
		}
		levels := w.rng.IntN(60)
		before := grow(levels)
		recurse(levels)
		w.check(grow(levels) == before, "a sum has changed")
	case 2: // while holding what only its stack holds
		held := make([][]byte, 20)
		sum := fnv.New64()
		for i := range held {
			held[i] = fmt.Append(nil, m.visits, i)
			sum.Write(held[i])
		}
		here()
		again := fnv.New64()
		for _, h := range held {
			again.Write(h)
		}
		w.check(sum.Sum64() == again.Sum64(), "%q: what it held has changed", m.fiber.Name())
	case 3: // in a deferred function
		defer here()
	case 4: // in mid-panic
		defer func() {
			r := recover()
			w.check(r == m, "%q recovered %v", m.fiber.Name(), r)
		}()
		defer here()
		panic(m)
	case 5: // in a callback from C
		if w.root.fiber.Backend() == fiber.Goroutine {
			here()
		} else {
			cbody.DeepCallGo(w.rng.IntN(2000), here)
		}
	case 6: // between two entries of a map
		if m.notes == nil {
			break
		}
		m.notes[-m.visits] = 1
		here()
		delete(m.notes, -m.visits)
		for visit, square := range m.notes {
			w.check(visit < 0 || square == visit*visit, "%q: note %d is %d", m.fiber.Name(), visit, square)
		}
	}
}
