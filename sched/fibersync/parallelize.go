package fibersync

import (
	"context"
	"fmt"
	"sync"

	"fiberlab/sched/park"
)

// Parallelize calls all the functions, concurrently as far as there are workers, and returns when
// all have returned; marl's parallelize. The caller calls the functions that no other worker has begun, at
// least one, so calls may be nested to any depth. The others are called by tasks of
// the caller's scheduler, or by goroutines if the caller has none; On chooses the scheduler. The functions
// may wait for one another. Parallelize panics with an error that wraps ErrNilFunc, before it
// calls any, if one is nil.
//
// If functions panic, Parallelize waits for the others and then panics with an error that wraps
// the *PanicError of each, in the order of the functions. If a function calls Goexit in a task, the program ends, as
// when any task calls it. If it does so on a goroutine, Parallelize panics with an error that wraps ErrGoexit. If it
// does so in the caller, the caller ends after the others have returned.
func Parallelize(fs ...func()) {
	for i, f := range fs {
		if f == nil {
			noFunction(i)
		}
	}
	fork(len(fs), func(i int) { fs[i]() })
}

// noFunction panics: function i is nil.
func noFunction(i int) {
	panic(fmt.Errorf("fibersync: parallelize: function %d: %w", i, ErrNilFunc))
}

// ParallelizeContext is Parallelize for functions that may fail. Each gets a context that is done when ctx is, or when
// one of them has failed, panicked or called Goexit. The cause is the error of the first such function, or
// ErrUnfinished after a panic or a Goexit. A function that has not begun by then is not called. ParallelizeContext
// returns when all that were called have returned. It returns the error of the function that failed first, or
// context.Cause(ctx) if ctx was done before that and some were not called. Panics and Goexit are treated as by
// Parallelize.
func ParallelizeContext(ctx context.Context, fs ...func(context.Context) error) error {
	for i, f := range fs {
		if f == nil {
			noFunction(i)
		}
	}
	ctx, cancel := context.WithCancelCause(within(ctx).Context)
	defer cancel(nil)
	var first error
	var once sync.Once
	fork(len(fs), func(i int) {
		err := park.ContextError(ctx)
		defer func() {
			if err != nil {
				once.Do(func() {
					first = err
					cancel(err)
				})
			}
		}()
		if err == nil {
			err = ErrUnfinished // unless it returns
			err = fs[i](ctx)
		}
	})
	return first
}
