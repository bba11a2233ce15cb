package dispatch_test

import (
	"context"
	"fmt"
	"io"

	"fiberlab/sched/fibersync"
	"fiberlab/sched/uring/dispatch"
	"fiberlab/sched/uring/fiberio"
)

// must panics with err.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// A context runs the tasks that it was given, and what they submit, and stops.
func ExampleContext() {
	c := dispatch.NewContext(dispatch.Options{})
	must(c.Submit(dispatch.TopLevel{
		Run: func() {
			fmt.Println("a task")
			must(c.Submit(dispatch.TopLevel{Run: func() { fmt.Println("a task of the task") }}))
		},
		BeforeEnd: func() { fmt.Println("before its end") },
	}))
	must(c.Start())
	must(c.Join())
	// Output:
	// a task
	// before its end
	// a task of the task
}

// A scheduler deals tasks out to its contexts, and stops them when the last task has ended.
func ExampleScheduler() {
	s, err := dispatch.NewScheduler(2, dispatch.Options{})
	must(err)
	listening, address := fibersync.NewLatch(1), ""
	must(s.Submit(dispatch.TopLevel{Run: func() {
		listener, err := fiberio.Listen(context.Background(), s.Engines(), "tcp", "127.0.0.1:0")
		must(err)
		defer listener.Close()
		address = listener.Addr().String()
		listening.CountDown()
		conn, err := listener.Accept()
		must(err)
		defer conn.Close()
		text, err := io.ReadAll(conn)
		must(err)
		fmt.Printf("%s\n", text)
	}}))
	must(s.Submit(dispatch.TopLevel{Run: func() {
		listening.Wait()
		conn, err := fiberio.Dial(context.Background(), s.Engines(), "tcp", address)
		must(err)
		defer conn.Close()
		_, err = io.WriteString(conn, "from one context to the other")
		must(err)
	}}))
	must(s.Loop())
	// Output: from one context to the other
}
