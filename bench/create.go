package bench

import (
	"errors"
	"iter"
	"time"

	"fiberlab/fiber"
)

// create is the workload of making something that runs, entering it, and seeing it end.
func create() Workload {
	w := Workload{
		Name: "create", Title: "Making a fiber, running an empty function on it, and closing it", Operation: "fiber",
		Base: "fiber-" + fiber.Backends()[0].String(), Counted: true,
	}
	for _, b := range fiber.Backends() {
		w.Rivals = append(w.Rivals, Mechanism{
			Name: "fiber-" + b.String(), Says: "what it needs comes from a pool; it is entered and left",
			Open: openLoop(createFibers(b)),
		})
	}
	w.Rivals = append(w.Rivals, []Mechanism{
		{Name: "iter.Pull", Says: "it makes a coroutine, and stop ends it", Open: openLoop(createPulls)},
		{Name: "go", Says: "a goroutine starts, closes a channel and ends", Open: openLoop(createGoroutines)},
		{Name: "thread", Says: "the kernel makes a thread, and the maker waits for its end", Open: openLoop(createThreads)},
	}...)
	return w
}

// createFibers returns the loop that makes fibers on a root, which is the goroutine that calls it.
func createFibers(b fiber.Backend) func(n int) (time.Duration, error) {
	return func(n int) (took time.Duration, err error) {
		root, err := fiber.Attach(b)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, root.Detach()) }()
		start := time.Now()
		for range n {
			f, err := fiber.New(fiber.Config{Name: "bench", Backend: b}, func() {})
			if err != nil {
				return 0, err
			}
			if err := errors.Join(root.SwitchTo(f), f.Close()); err != nil {
				return 0, err
			}
		}
		return time.Since(start), nil
	}
}

func createPulls(n int) (time.Duration, error) {
	start := time.Now()
	for range n {
		next, stop := iter.Pull(func(yield func(struct{}) bool) {})
		next()
		stop()
	}
	return time.Since(start), nil
}

func createGoroutines(n int) (time.Duration, error) {
	start := time.Now()
	for range n {
		done := make(chan struct{})
		go close(done)
		<-done
	}
	return time.Since(start), nil
}
