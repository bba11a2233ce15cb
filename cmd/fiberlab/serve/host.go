package serve

import (
	"context"
	"net"
	"time"
)

// host is where connections come from, and what runs on them.
type host interface {
	listen(ctx context.Context, address string) (net.Listener, error)
	// run has f run on a new fiber or goroutine.
	run(f func()) error
	// sleep is for functions that run has started.
	sleep(d time.Duration)
	// driver is the name of what carries the bytes, and why it is that.
	driver() (name, why string)
	// describe adds what the host is, and what it has done.
	describe(f *Figures)
	// close returns when all that run has started has ended.
	close() error
}

// newHost returns the host that o asks for.
func newHost(o Setup) (host, error) {
	if o.Engines != nil {
		return newEngines(o)
	}
	return goHost{}, nil
}

// goHost is Go's own net and os, and a goroutine for each connection.
type goHost struct{}

func (goHost) listen(ctx context.Context, address string) (net.Listener, error) {
	var c net.ListenConfig
	return c.Listen(ctx, "tcp", address)
}

func (goHost) run(f func()) error         { go f(); return nil }
func (goHost) sleep(d time.Duration)      { time.Sleep(d) }
func (goHost) driver() (name, why string) { return "go", "asked for: Go's own net and os" }
func (goHost) describe(*Figures)          {}
func (goHost) close() error               { return nil }
