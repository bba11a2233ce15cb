package fibersync

import (
	"context"
	"sync"
)

// Parallelize calls all the functions, beside one another as far as there are workers, and
// returns when all have returned; marl's parallelize. The caller calls as many of them
// itself as nobody else has begun, at least one, so forks may be nested to any depth. The
// others are called by tasks of its scheduler, or by goroutines if the caller is
// no fiber. They may wait for one another.
//
// If functions panic, Parallelize waits for the others and then panics with an error that wraps
// the *PanicError of each, in the order of the functions. A function that calls Goexit in a
// task ends the program as a task does; on a goroutine Parallelize panics with an error
// that wraps ErrGoexit; in the caller it ends the caller, after the others.
func Parallelize(fs ...func()) {
	fork(len(fs), func(i int) { fs[i]() })
}

// ParallelizeContext is Parallelize for functions that may fail. Each gets a context that
// is over when ctx is, or when one of them has failed, panicked or called Goexit. A function that
// nobody has begun by then is not called. ParallelizeContext returns when all that have been called
// have returned, with the error of the one that failed first, or ctx's error if it was over before
// that and some were not called. Panics and Goexit are treated as by Parallelize.
func ParallelizeContext(ctx context.Context, fs ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(within(ctx).ctx)
	defer cancel()
	var first error
	var once sync.Once
	fork(len(fs), func(i int) {
		err := ctx.Err()
		defer func() {
			if err != nil {
				once.Do(func() { first = err })
				cancel()
			}
		}()
		if err == nil {
			err = ErrUnfinished // unless it returns
			err = fs[i](ctx)
		}
	})
	return first
}
