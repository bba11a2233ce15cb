package uring_test

import (
	"context"
	"fmt"
	"io"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/uring"
)

// must panics with err.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// A task serves one connection, and a goroutine is its client.
func Example() {
	engines := uring.New(uring.Options{})
	defer engines.Close()
	cfg := sched.Config{Workers: 1}
	engines.Attach(&cfg)
	s, err := sched.New(cfg)
	must(err)
	defer s.Close()

	ctx := context.Background()
	listener, err := engines.Listen(ctx, "tcp", "127.0.0.1:0")
	must(err)
	defer listener.Close()
	must(s.Go(func() {
		conn, err := listener.Accept() // the task waits, its worker does not
		must(err)
		defer conn.Close()
		_, err = io.Copy(conn, conn)
		must(err)
	}))

	conn, err := engines.Dial(ctx, "tcp", listener.Addr().String())
	must(err)
	defer conn.Close()
	_, err = io.WriteString(conn, "hello")
	must(err)
	must(conn.CloseWrite())
	answer, err := io.ReadAll(conn)
	must(err)
	fmt.Printf("%s\n", answer)
	// Output: hello
}

// A context runs the tasks that it was given, and what they submit, and stops.
func ExampleContext() {
	c := uring.NewContext(uring.Options{})
	must(c.Submit(uring.TopLevel{
		Run: func() {
			fmt.Println("a task")
			must(c.Submit(uring.TopLevel{Run: func() { fmt.Println("a task of the task") }}))
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
	s, err := uring.NewScheduler(2, uring.Options{})
	must(err)
	listening, address := fibersync.NewLatch(1), ""
	must(s.Submit(uring.TopLevel{Run: func() {
		listener, err := s.Engines().Listen(context.Background(), "tcp", "127.0.0.1:0")
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
	must(s.Submit(uring.TopLevel{Run: func() {
		listening.Wait()
		conn, err := s.Engines().Dial(context.Background(), "tcp", address)
		must(err)
		defer conn.Close()
		_, err = io.WriteString(conn, "from one context to the other")
		must(err)
	}}))
	must(s.Loop())
	// Output: from one context to the other
}
