package bench

/*
#include "create.h"
*/
import "C"

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
			Name: "fiber-" + b.String(), Says: "what it needs comes from a pool; it is entered and left", Open: openCreator(b),
		})
	}
	w.Rivals = append(w.Rivals, []Mechanism{
		{Name: "iter.Pull", Says: "it makes a coroutine, and stop ends it", Open: openLoop(createPulls)},
		{Name: "go", Says: "a goroutine starts, closes a channel and ends", Open: openLoop(createGoroutines)},
		{Name: "thread", Says: "the kernel makes a thread, and the maker waits for its end", Open: openLoop(createThreads)},
	}...)
	return w
}

// creator makes fibers on a root.
type creator struct {
	root    *fiber.Fiber
	backend fiber.Backend
}

func openCreator(b fiber.Backend) func() (Session, error) {
	return func() (Session, error) {
		return openRooted(b, func(root *fiber.Fiber) (loop, error) { return &creator{root, b}, nil })
	}
}

func (c *creator) run(n int) (Sample, error) {
	start := time.Now()
	for range n {
		f, err := fiber.New(fiber.Config{Name: "bench", Backend: c.backend}, func() {})
		if err != nil {
			return Sample{}, err
		}
		if err := errors.Join(c.root.SwitchTo(f), f.Close()); err != nil {
			return Sample{}, err
		}
	}
	return Sample{n, time.Since(start)}, nil
}

func (c *creator) close() error { return nil }

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

func createThreads(n int) (took time.Duration, err error) {
	err = onCPU(currentCPU(), func() error {
		took = time.Duration(C.create_threads(C.uint64_t(n)))
		if took == 0 {
			return errors.New("a thread could not be made")
		}
		return nil
	})
	return took, err
}
