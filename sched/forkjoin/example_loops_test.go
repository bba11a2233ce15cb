package forkjoin_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"fiberlab/sched"
	"fiberlab/sched/forkjoin"
)

// withPool calls f with a pool on a scheduler of two workers.
func withPool(f func(p *forkjoin.Pool)) {
	s, err := sched.New(sched.Config{Workers: 2})
	if err != nil {
		panic(err)
	}
	p, err := forkjoin.New(s, forkjoin.Config{})
	if err != nil {
		panic(err)
	}
	f(p)
	if err := errors.Join(p.Close(), s.Close()); err != nil {
		panic(err)
	}
}

func ExampleFor() {
	withPool(func(p *forkjoin.Pool) {
		squares := make([]int, 6)
		forkjoin.For(p, forkjoin.Range{End: len(squares)}, func(_ *forkjoin.Pool, begin, end int) {
			for i := begin; i < end; i++ {
				squares[i] = i * i
			}
		})
		fmt.Println(squares)
	})
	// Output: [0 1 4 9 16 25]
}

func ExampleForContext() {
	withPool(func(p *forkjoin.Pool) {
		names := []string{"a", "b", "", "d"}
		err := forkjoin.ForContext(context.Background(), p, forkjoin.Range{End: len(names)},
			func(ctx context.Context, _ *forkjoin.Pool, begin, end int) error {
				for i := begin; i < end; i++ {
					if names[i] == "" {
						return fmt.Errorf("number %d has no name", i)
					}
				}
				return nil
			})
		fmt.Println(err)
	})
	// Output: number 2 has no name
}

func ExampleMap() {
	withPool(func(p *forkjoin.Pool) {
		lengths := forkjoin.Map(
			p, []string{"one", "two", "three"}, func(_ *forkjoin.Pool, s string) int { return len(s) },
		)
		fmt.Println(lengths)
	})
	// Output: [3 3 5]
}

// The parts of a sum are tight loops.
func ExampleReduce() {
	withPool(func(p *forkjoin.Pool) {
		numbers := []int{3, 1, 4, 1, 5, 9, 2, 6}
		sum := forkjoin.Reduce(p, forkjoin.Range{End: len(numbers)}, func(_ *forkjoin.Pool, begin, end int) int {
			sum := 0
			for _, v := range numbers[begin:end] {
				sum += v
			}
			return sum
		}, func(left, right int) int { return left + right })
		fmt.Println(sum)
	})
	// Output: 31
}

func ExampleScan() {
	withPool(func(p *forkjoin.Pool) {
		sums := forkjoin.Scan(p, []int{3, 1, 4, 1, 5}, func(left, right int) int { return left + right })
		fmt.Println(sums)
	})
	// Output: [3 4 8 9 14]
}

func ExampleSortFunc() {
	withPool(func(p *forkjoin.Pool) {
		words := []string{"pear", "fig", "plum", "apple"}
		forkjoin.SortFunc(p, words, strings.Compare)
		fmt.Println(words)
	})
	// Output: [apple fig pear plum]
}

// Equal elements keep their order.
func ExampleSortStableFunc() {
	withPool(func(p *forkjoin.Pool) {
		words := []string{"pear", "fig", "plum", "kiwi", "date", "apple"}
		forkjoin.SortStableFunc(p, words, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
		fmt.Println(words)
	})
	// Output: [fig pear plum kiwi date apple]
}

func ExampleJoinContext() {
	withPool(func(p *forkjoin.Pool) {
		_, _, err := forkjoin.JoinContext(context.Background(), p,
			func(context.Context, *forkjoin.Pool) (int, error) { return 0, errors.New("no left half") },
			func(context.Context, *forkjoin.Pool) (int, error) { return 7, nil })
		fmt.Println(err)
	})
	// Output: no left half
}
