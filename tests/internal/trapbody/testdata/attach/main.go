// Attach makes its main goroutine a root fiber of the default backend, and runs a
// fiber. The tests link it so that it takes its Go runtime for another one.
package main

import (
	"fmt"
	"os"

	"fiberlab/fiber"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("ok")
}

func run() error {
	root, err := fiber.Attach(fiber.Default)
	if err != nil {
		return err
	}
	f, err := fiber.New(fiber.Config{Name: "one"}, func() {})
	if err != nil {
		return err
	}
	if err := root.SwitchTo(f); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return root.Detach()
}
