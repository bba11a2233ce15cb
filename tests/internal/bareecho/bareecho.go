// Package bareecho is an echo server in C: a loop around io_uring, without fibers, Go, or a connection's own code. What
// it takes for a request is what a server on io_uring cannot do without.
package bareecho

/*
#cgo CFLAGS: -O2 -Wall -Wextra
#cgo LDFLAGS: -Wl,-Bstatic -luring -Wl,-Bdynamic
#include "bareecho.h"
*/
import "C"

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Figures are what a server has done.
type Figures struct {
	Connections, Requests int64
	Enters                uint64 // system calls by which it submits and waits
}

// Supported reports whether the kernel has what Serve needs: Linux 6.1 does.
func Supported() bool { return C.bareecho_supported() != 0 }

// Serve listens on a free port of the loopback, reports its address, and sends back what clients send, until ctx ends.
// It blocks its thread.
func Serve(ctx context.Context, listening func(address string)) (Figures, error) {
	var none net.ListenConfig
	l, err := none.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return Figures{}, fmt.Errorf("bareecho: %w", err)
	}
	defer func() { _ = l.Close() }()
	socket, err := l.(*net.TCPListener).File()
	if err != nil {
		return Figures{}, fmt.Errorf("bareecho: %w", err)
	}
	defer func() { _ = socket.Close() }()
	stop, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return Figures{}, fmt.Errorf("bareecho: eventfd: %w", err)
	}
	defer func() { _ = unix.Close(stop) }()
	told := make(chan struct{})
	forget := context.AfterFunc(ctx, func() {
		defer close(told)
		_, _ = unix.Write(stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	})
	defer func() {
		if !forget() {
			<-told
		}
	}()
	listening(l.Addr().String())
	runtime.LockOSThread() // the ring is its thread's
	defer runtime.UnlockOSThread()
	var f C.struct_bareecho_figures
	var code C.int
	fd := int(socket.Fd()) // which has it wait for connections, and not refuse to
	code = C.bareecho_serve(C.int(fd), C.int(stop), &f)
	if code < 0 {
		return Figures{}, fmt.Errorf("bareecho: %w", syscall.Errno(-code))
	}
	return Figures{Connections: int64(f.connections), Requests: int64(f.requests), Enters: uint64(f.enters)}, nil
}
