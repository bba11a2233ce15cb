// Pipeline has three stages, which channels connect: one counts, one squares, one adds up. The first run ends
// because the last stage has enough, the second one because its deadline has passed. In both, each stage ends:
// none is left behind.
//
// It prints:
//
//	1 + 4 + 9 + 16 + 25 = 55
//	count:  enough
//	square: enough
//	add:    enough
//	count:  context deadline exceeded
//	square: context deadline exceeded
//	add:    context deadline exceeded
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

var errEnough = errors.New("enough")

// count sends 1, 2, 3 and so on, and pauses after each number. A wait that takes a context returns when the
// context is done, with the reason: count does so wherever it waits.
func count(ctx context.Context, out *fibersync.Channel[int], pause time.Duration) error {
	for n := 1; ; n++ {
		if err := out.SendContext(ctx, n); err != nil {
			return err
		}
		if err := fibersync.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

func square(ctx context.Context, in, out *fibersync.Channel[int]) error {
	for {
		n, err := in.ReceiveContext(ctx)
		if err != nil {
			return err
		}
		if err := out.SendContext(ctx, n*n); err != nil {
			return err
		}
	}
}

// add adds up what it receives, and has enough at 55.
func add(ctx context.Context, in *fibersync.Channel[int], enough context.CancelCauseFunc) (err error) {
	sum, text := 0, ""
	for sum < 55 {
		n, err := in.ReceiveContext(ctx)
		if err != nil {
			return err
		}
		if sum += n; text != "" {
			text += " + "
		}
		text += fmt.Sprint(n)
	}
	fmt.Printf("%s = %d\n", text, sum)
	enough(errEnough) // ends the other stages
	return context.Cause(ctx)
}

// run runs the stages until ctx is done or the last stage has enough, and prints why each has ended.
func run(ctx context.Context, pause time.Duration) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	numbers, squares := fibersync.NewChannel[int](2), fibersync.NewChannel[int](2)
	var counted, squared, added error
	// Parallelize runs each function as a task, and returns when all have returned.
	fibersync.Parallelize(
		func() { counted = count(ctx, numbers, pause) },
		func() { squared = square(ctx, numbers, squares) },
		func() { added = add(ctx, squares, cancel) },
	)
	fmt.Printf("count:  %v\nsquare: %v\nadd:    %v\n", counted, squared, added)
}

func main() {
	err := sched.Run(sched.AllCores(), func() {
		run(context.Background(), 0)

		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		run(ctx, time.Hour)
	})
	if err != nil {
		log.Fatal(err)
	}
}
