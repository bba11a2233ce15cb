// Hello starts one task, which sends words through a channel to the main function.
//
// It prints:
//
//	hello
//	fibers
package main

import (
	"fmt"
	"log"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

func main() {
	// Run makes a scheduler with a worker for each processor and calls the function, which may start tasks. It returns
	// when all of them have ended.
	err := sched.Run(sched.AllCores(), func() {
		words := fibersync.NewChannel[string](1) // with room for one word
		err := sched.Schedule(func() {
			words.Send("hello")
			words.Send("fibers") // waits for room: the task's fiber keeps its stack, and its worker runs other fibers
			words.Close()
		})
		if err != nil {
			log.Fatal(err)
		}
		for word := range words.All() {
			fmt.Println(word)
		}
	})
	if err != nil {
		log.Fatal(err)
	}
}
