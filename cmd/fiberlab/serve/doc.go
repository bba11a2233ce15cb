// Package serve has three servers: one sends back what comes, one answers HTTP, and one serves files by HTTP. They are
// what fiberlab serve runs. Each is one program over net.Listener and net.Conn, whatever carries its bytes:
//
//   - Go's package net, and a goroutine for each connection; or
//   - the engines of package uring, and a fiber for each connection. net/http starts goroutines itself: these use the
//     engines from outside.
//
// So the two can be compared: the program is the same, and so are the clients.
//
//	server.go   what all servers do: listen, serve until they are told to stop, finish what is under way
//	echo.go     bytes sent back
//	http.go     net/http on any listener, and the small handlers
//	files.go    the handler that serves files, and which files it opens
//	idle.go     connections on which nothing moves
//	tls.go      the same over TLS, with a certificate made for the run
//	host.go     where connections come from and what runs on them: Go's net, and the engines
//	meter.go    what is counted while a server runs
//	figures.go  what that comes to
package serve

import _ "fiberlab/internal/platform"
