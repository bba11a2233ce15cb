// Package fiberio has connections, listeners and files whose calls make a fiber wait, and not its thread. They are to
// packages net and os what package fibersync is to package sync, and serve goroutines as well. Each is opened by
// [uring.Engines]:
//
//	listener, err := fiberio.Listen(ctx, engines, "tcp", ":8080")
//	conn, err := listener.Accept()
//	data, err := fiberio.ReadFile(ctx, engines, "motd")
package fiberio
