package stack_test

import (
	"fmt"
	"testing"

	"fiberlab/stack"
	"fiberlab/stack/stacktest"
)

// BenchmarkGetPut is a stack that is taken and put back: from the idle list, by
// one goroutine and by several, and with its pages released each time.
func BenchmarkGetPut(b *testing.B) {
	cycle := func(b *testing.B, p *stack.Pool) {
		st, err := p.Get()
		if err != nil {
			b.Error(err)
			return
		}
		if err := p.Put(st); err != nil {
			b.Error(err)
		}
	}
	b.Run("pooled", func(b *testing.B) {
		p := newPool(b, stack.Options{})
		for range b.N {
			cycle(b, p)
		}
	})
	b.Run("pooled-parallel", func(b *testing.B) {
		p := newPool(b, stack.Options{})
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				cycle(b, p)
			}
		})
	})
	b.Run("released", func(b *testing.B) {
		p := newPool(b, stack.Options{MaxIdle: -1})
		for range b.N {
			cycle(b, p)
		}
	})
}

// BenchmarkFresh is a stack that was never handed out before, until 10,000 are
// held at once: mapping, guard and bookkeeping, without touching the stack.
func BenchmarkFresh(b *testing.B) {
	const held = 10_000
	for _, kind := range guardKinds {
		b.Run(kind.String(), func(b *testing.B) {
			p := newPool(b, stack.Options{Guard: kind, MaxIdle: held})
			stacks := make([]*stack.Stack, 0, held)
			putBack := func() {
				putAll(b, p, stacks)
				stacks = stacks[:0]
				p.Trim()
			}
			b.ResetTimer()
			for range b.N {
				st, err := p.Get()
				if err != nil {
					b.Fatal(err)
				}
				if stacks = append(stacks, st); len(stacks) == held {
					b.StopTimer()
					putBack()
					b.StartTimer()
				}
			}
			b.StopTimer()
			putBack()
		})
	}
}

// BenchmarkColour touches the first line of one stack after the other, as a
// ring of fibers does: below Top, and below Hi as if tops were not coloured.
func BenchmarkColour(b *testing.B) {
	ends := []struct {
		name string
		end  func(*stack.Stack) uintptr
	}{
		{"coloured", (*stack.Stack).Top},
		{"plain", (*stack.Stack).Hi},
	}
	for _, n := range []int{100, 1000, 100_000} {
		for _, e := range ends {
			b.Run(fmt.Sprintf("%s/%d", e.name, n), func(b *testing.B) {
				p := newPool(b, stack.Options{})
				n := stacktest.Held(b, n)
				stacks := make([]*stack.Stack, n)
				words := make([]*uint64, n)
				for i := range stacks {
					stacks[i] = get(b, p)
					words[i] = word(e.end(stacks[i]) - 8)
				}
				b.ResetTimer()
				for i, left := 0, b.N; left > 0; left-- {
					*words[i]++
					if i++; i == n {
						i = 0
					}
				}
				b.StopTimer()
				putAll(b, p, stacks)
			})
		}
	}
}

// BenchmarkHighWater is one question about a stack of 64 KB that used 300 bytes.
func BenchmarkHighWater(b *testing.B) {
	p := newPool(b, stack.Options{})
	st := get(b, p)
	*word(st.Top() - 304) = 1
	for range b.N {
		if st.HighWater() != 304 {
			b.Fatal("wrong mark")
		}
	}
	putAll(b, p, []*stack.Stack{st})
}
