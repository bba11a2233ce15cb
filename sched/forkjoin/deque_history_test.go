package forkjoin

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"fiberlab/internal/history"
)

// dequeSpec is a list of letters: push adds one at the end, pop takes the last and steal the first. Either finds
// nothing only if there is nothing. A steal that is told to try again has done nothing.
var dequeSpec = history.Spec[string, string, string]{Step: func(items, in, out string) (bool, string) {
	switch {
	case in == "push":
		return true, items + out
	case out == "again":
		return in == "steal", items
	case out == "":
		return items == "", items
	case in == "pop":
		return strings.HasSuffix(items, out), strings.TrimSuffix(items, out)
	}
	return strings.HasPrefix(items, out), strings.TrimPrefix(items, out)
}}

// The owner pushes and pops beside two thieves, in arrays so small that indices wrap around and arrays grow.
func TestDequeIsLinearizable(t *testing.T) {
	const thieves, pushes = 2, 24
	random := newRand(t)
	for range scaled(300) {
		d := dequeOfSize[string](1, random.Uint64())
		h := history.New[string, string](1 + thieves)
		var ready atomic.Int32
		var done atomic.Bool
		var clients sync.WaitGroup
		start := func(client func()) {
			clients.Add(1)
			go func() {
				defer clients.Done()
				for ready.Add(1); ready.Load() <= thieves; {
					runtime.Gosched()
				}
				client()
			}()
		}
		bursts := make([]int, pushes)
		for i := range bursts {
			bursts[i] = random.IntN(4)
		}
		start(func() {
			defer done.Store(true)
			pushed := 0
			for _, burst := range bursts {
				for range min(burst, pushes-pushed) {
					item := string(rune('A' + pushed))
					pushed++
					h.Do(0, "push", func() string { d.push(&item); return item })
				}
				for range (burst + 1) / 2 {
					h.Do(0, "pop", func() string { return letter(d.pop()) })
				}
			}
			for h.Do(0, "pop", func() string { return letter(d.pop()) }) != "" {
			}
		})
		for thief := range thieves {
			start(func() {
				for tries := 0; tries < 2*pushes && !done.Load(); tries++ {
					if h.Do(1+thief, "steal", func() string {
						item, again := d.steal()
						if again {
							return "again"
						}
						return letter(item)
					}) == "" {
						runtime.Gosched()
					}
				}
			})
		}
		clients.Wait()
		dequeSpec.Check(t, h)
		if t.Failed() {
			return
		}
	}
}

func letter(item *string) string {
	if item == nil {
		return ""
	}
	return *item
}
