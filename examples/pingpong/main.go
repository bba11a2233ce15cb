// Pingpong switches between two fibers without a scheduler: each decides itself who runs next.
//
// It prints:
//
//	ping 1
//	pong 1
//	ping 2
//	pong 2
//	ping 3
//	pong 3
//	both have ended: Finished, Finished
package main

import (
	"fmt"
	"log"

	"fiberlab/fiber"
)

func main() {
	// The calling goroutine becomes a fiber, too: the root, to which its thread returns when another one ends.
	root, err := fiber.Attach(fiber.Default)
	check(err)

	var ping, pong *fiber.Fiber
	player := func(name string, other **fiber.Fiber) func() {
		return func() {
			for round := 1; round <= 3; round++ {
				fmt.Println(name, round)
				// SwitchTo saves the registers of this fiber and loads those that the other one has saved. It returns
				// when a fiber switches back to this one.
				check(fiber.Current().SwitchTo(*other))
			}
		}
	}
	ping, err = fiber.New(fiber.Config{Name: "ping"}, player("ping", &pong))
	check(err)
	pong, err = fiber.New(fiber.Config{Name: "pong"}, player("pong", &ping))
	check(err)

	check(root.SwitchTo(ping)) // returns when a body returns: ping's, after its third round
	check(root.SwitchTo(pong)) // lets pong return from its last SwitchTo, and end as well
	fmt.Printf("both have ended: %v, %v\n", ping.State(), pong.State())
	check(fiber.CloseAll(ping, pong)) // their stacks are free again
	check(root.Detach())
}

// check ends the program if err is an error.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
