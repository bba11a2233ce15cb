// Quicksort sorts numbers twice: by a plain recursion, and by the same recursion whose two halves are forked and
// joined. `go run ./examples/quicksort 5000000` sorts so many.
//
// It prints:
//
//	1000000 numbers
//	plain:  about 80 ms
//	forked: about 44 ms, with a worker for each processor
//	speed-up: about 1.8
//	both are sorted: true
package main

import (
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"time"

	"fiberlab/sched"
	"fiberlab/sched/forkjoin"
)

// partition moves what is smaller than a pivot to the left and what is larger to the right, and returns the two
// parts. Both are shorter than numbers, which must have two elements or more.
func partition(numbers []int) (smaller, larger []int) {
	pivot := numbers[len(numbers)/2]
	left, right := 0, len(numbers)-1
	for left <= right {
		for numbers[left] < pivot {
			left++
		}
		for numbers[right] > pivot {
			right--
		}
		if left <= right {
			numbers[left], numbers[right] = numbers[right], numbers[left]
			left++
			right--
		}
	}
	return numbers[:right+1], numbers[left:]
}

func quicksort(numbers []int) {
	if len(numbers) < 2 {
		return
	}
	smaller, larger := partition(numbers)
	quicksort(smaller)
	quicksort(larger)
}

// worthIt is how many numbers a part must have to be forked. A fork costs some ten nanoseconds if no other worker
// takes it, so a part must take much longer than that.
const worthIt = 1000

// forked is quicksort whose parts may run at the same time. Join runs the first function itself. The second one
// runs on another worker if one is idle, and else here, after the first.
func forked(pool *forkjoin.Pool, numbers []int) struct{} {
	if len(numbers) < worthIt {
		quicksort(numbers)
		return struct{}{}
	}
	smaller, larger := partition(numbers)
	forkjoin.Join(pool,
		func(pool *forkjoin.Pool) struct{} { return forked(pool, smaller) },
		func(pool *forkjoin.Pool) struct{} { return forked(pool, larger) })
	return struct{}{}
}

// timed returns how long f takes.
func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

func main() {
	n := 1_000_000
	if len(os.Args) > 1 {
		var err error
		if n, err = strconv.Atoi(os.Args[1]); err != nil || n < 0 {
			log.Fatalf("%q: give the number of numbers", os.Args[1])
		}
	}
	a := rand.New(rand.NewPCG(1, 2)).Perm(n)
	b := slices.Clone(a)
	err := sched.Run(sched.AllCores(), func() {
		pool, err := forkjoin.New(sched.Get(), forkjoin.Config{})
		if err != nil {
			log.Fatal(err)
		}
		plain := timed(func() { quicksort(a) })
		both := timed(func() { forked(pool, b) })
		fmt.Printf("%d numbers\n", n)
		fmt.Printf("plain:  about %d ms\n", plain.Milliseconds())
		fmt.Printf("forked: about %d ms, with a worker for each processor\n", both.Milliseconds())
		fmt.Printf("speed-up: about %.1f\n", float64(plain)/float64(both))
		fmt.Println("both are sorted:", slices.IsSorted(a) && slices.IsSorted(b))
		if err := pool.Close(); err != nil {
			log.Fatal(err)
		}
	})
	if err != nil {
		log.Fatal(err)
	}
}
