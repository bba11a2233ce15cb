package fiberio_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"fiberlab/sched"
	"fiberlab/sched/uring"
	"fiberlab/sched/uring/fiberio"
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
	listener, err := fiberio.Listen(ctx, engines, "tcp", "127.0.0.1:0")
	must(err)
	defer listener.Close()
	must(s.Go(func() {
		conn, err := listener.Accept() // the task waits, its worker does not
		must(err)
		defer conn.Close()
		_, err = io.Copy(conn, conn)
		must(err)
	}))

	conn, err := fiberio.Dial(ctx, engines, "tcp", listener.Addr().String())
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

// A file is written and read by the engine of the goroutine, which waits.
func ExampleFile() {
	dir, err := os.MkdirTemp("", "fiberio")
	must(err)
	defer os.RemoveAll(dir)
	engines := uring.New(uring.Options{})
	defer engines.Close()

	ctx, name := context.Background(), filepath.Join(dir, "motd")
	file, err := fiberio.Create(ctx, engines, name)
	must(err)
	_, err = io.WriteString(file, "hello\n")
	must(err)
	must(file.Close())
	text, err := fiberio.ReadFile(ctx, engines, name)
	must(err)
	fmt.Printf("%s", text)
	// Output: hello
}
