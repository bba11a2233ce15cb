// Echo is a server that sends back what it receives. A task serves each connection, and reads and writes by the
// engine of its worker: by io_uring or, where the kernel has none, by epoll. A task that waits for a client leaves
// its worker to others.
//
// It prints:
//
//	100 clients have had their lines back
//
// `go run ./examples/echo 127.0.0.1:7007` serves until it is interrupted and its clients have left; a second interrupt
// ends it at once. Try `nc 127.0.0.1 7007` beside it.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/uring"
	"fiberlab/sched/uring/fiberio"
)

// serve has a task for each connection. It returns when the listener is closed and all connections have ended.
func serve(listener *fiberio.Listener) {
	var connections fibersync.WaitGroup
	defer connections.Wait()
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			log.Fatal(err)
		}
		connections.Go(func() {
			defer conn.Close()
			if _, err := io.Copy(conn, conn); err != nil { // until the client sends no more
				log.Print(err)
			}
		})
	}
}

// visit sends a line to the server and checks what comes back.
func visit(engines *uring.Engines, address string, client int) error {
	conn, err := fiberio.Dial(context.Background(), engines, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	sent := fmt.Sprintf("hello from client %d\n", client)
	if _, err := io.WriteString(conn, sent); err != nil {
		return err
	}
	received, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && received != sent {
		err = fmt.Errorf("client %d received %q", client, received)
	}
	return err
}

func main() {
	engines := uring.New(uring.Options{})
	cfg := sched.AllCores()
	engines.Attach(&cfg) // each worker has an engine
	err := sched.Run(cfg, func() {
		address := "127.0.0.1:0" // the system chooses the port
		if len(os.Args) > 1 {
			address = os.Args[1]
		}
		listener, err := fiberio.Listen(context.Background(), engines, "tcp", address)
		if err != nil {
			log.Fatal(err)
		}
		var server fibersync.WaitGroup
		server.Go(func() { serve(listener) })
		if len(os.Args) > 1 {
			interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt)
			fmt.Println("serves at", listener.Addr())
			fibersync.BlockingCall(func() { <-interrupted.Done() }) // waits on a thread of its own
			stop()                                                  // the next interrupt ends the program
			fmt.Println("waits for clients to leave; interrupt again to end at once")
		} else {
			hundredClients(engines, listener.Addr().String())
		}
		if err := listener.Close(); err != nil {
			log.Fatal(err)
		}
		server.Wait()
	})
	if err = errors.Join(err, engines.Close()); err != nil {
		log.Fatal(err)
	}
}

// hundredClients has a task for each client.
func hundredClients(engines *uring.Engines, address string) {
	const n = 100
	var clients fibersync.WaitGroup
	for i := range n {
		clients.Go(func() {
			if err := visit(engines, address, i); err != nil {
				log.Fatal(err)
			}
		})
	}
	clients.Wait()
	fmt.Println(n, "clients have had their lines back")
}
