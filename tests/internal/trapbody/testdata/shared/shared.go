// Shared is a library for programs in C, which runs fibers on their threads.
package main

import "C"

import (
	"fmt"
	"os"

	"fiberlab/fiber"
)

// runFibers makes the calling thread a root, switches to a fiber and back, and tells by 0 that all went well.
//
//export runFibers
func runFibers() C.int {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func run() error {
	root, err := fiber.Attach(fiber.Default)
	if err != nil {
		return err
	}
	turns := 0
	var back error
	f, err := fiber.New(fiber.Config{Name: "one"}, func() {
		turns++
		back = fiber.Current().SwitchTo(root)
		turns++
	})
	if err != nil {
		return err
	}
	for turn := 1; turn <= 2; turn++ {
		if err := root.SwitchTo(f); err != nil {
			return err
		}
		if back != nil || turns != turn {
			return fmt.Errorf("turn %d: the fiber ran %d times: %v", turn, turns, back)
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	return root.Detach()
}

func main() {}
