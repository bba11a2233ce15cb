package serve_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"

	"fiberlab/cmd/fiberlab/serve"
	"fiberlab/sched"
	"fiberlab/sched/uring"
)

// must panics with err.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// A server of net/http answers one request, and is told to stop.
func ExampleRun() {
	ctx, stop := context.WithCancel(context.Background())
	figures, err := serve.Run(ctx, serve.HTTP(), serve.Setup{
		Listening: func(at serve.At) {
			go func() {
				defer stop()
				answer, err := http.Get("http://" + at.Address + "/bytes/3000")
				must(err)
				defer answer.Body.Close()
				body, err := io.ReadAll(answer.Body)
				must(err)
				fmt.Println(answer.Status, len(body), "bytes")
			}()
		},
	})
	must(err)
	fmt.Println(figures.Requests, "request by driver", figures.Driver)
	// Output:
	// 200 OK 3000 bytes
	// 1 request by driver go
}

// Each connection has a fiber. The worker's engine carries the bytes, by io_uring or by epoll.
func ExampleEcho() {
	ctx, stop := context.WithCancel(context.Background())
	figures, err := serve.Run(ctx, serve.Echo(), serve.Setup{
		Engines:   &uring.Options{},
		Scheduler: sched.Config{Workers: 1},
		Listening: func(at serve.At) {
			go func() {
				defer stop()
				conn, err := net.Dial("tcp", at.Address)
				must(err)
				defer conn.Close()
				_, err = io.WriteString(conn, "hello")
				must(err)
				answer := make([]byte, 5)
				_, err = io.ReadFull(conn, answer)
				must(err)
				fmt.Printf("%s\n", answer)
			}()
		},
	})
	must(err)
	fmt.Println(figures.Connections, "connection,", figures.BytesOut, "bytes sent back")
	// Output:
	// hello
	// 1 connection, 5 bytes sent back
}
