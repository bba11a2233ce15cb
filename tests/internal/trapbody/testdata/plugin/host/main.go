// A host that uses fibers before it loads the plugin that its argument names, which uses them too, and afterwards.
package main

import (
	"fmt"
	"os"
	"plugin"

	"fiberlab/fiber"
)

func main() {
	use()
	p, err := plugin.Open(os.Args[1])
	must(err)
	run, err := p.Lookup("Run")
	must(err)
	n, err := run.(func() (int, error))()
	must(err)
	use()
	fmt.Println(n, "tasks")
}

// use runs a fiber.
func use() {
	root, err := fiber.Attach(fiber.Asm)
	must(err)
	ran := false
	f, err := fiber.New(fiber.Config{Backend: fiber.Asm}, func() { ran = fiber.Current() != root })
	must(err)
	must(root.SwitchTo(f))
	must(f.Close())
	must(root.Detach())
	if !ran {
		panic("the fiber has not run")
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
