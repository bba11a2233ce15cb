package serve

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"
)

// Echo is the server that sends back what comes. Its requests are reads:
// what one read has brought is sent back by one write.
func Echo() Program { return echoProgram{} }

type echoProgram struct{}

func (echoProgram) name() string { return "echo" }

func (echoProgram) begin(s *site, l net.Listener) (session, error) {
	e := &echoing{site: s, listener: l, over: make(chan error, 1), none: make(chan struct{})}
	e.conns = map[*replying]*moves{}
	return e, s.run(e.accept)
}

// echoing is an echo server at work.
type echoing struct {
	*site
	listener net.Listener
	over     chan error

	openConns[*replying] // and mu guards what follows

	last     time.Time     // not zero: the server stops, and this is when it cuts connections
	none     chan struct{} // closed when it stops and there is no connection
	accepted bool          // no further connection comes
}

func (e *echoing) ended() <-chan error { return e.over }

// How long the server accepts nothing when it has run out of descriptors or memory: twice as long each time.
const (
	shortestPause = 5 * time.Millisecond
	longestPause  = 500 * time.Millisecond
)

// accept has each connection served on a new fiber or goroutine, until the listener is closed.
func (e *echoing) accept() {
	pause := shortestPause
	for {
		c, err := e.listener.Accept()
		switch {
		case err == nil:
			pause = shortestPause
			e.start(c)
		case exhausted(err):
			e.refuse(err)
			e.sleep(pause)
			pause = min(2*pause, longestPause)
		case gone(err):
		default:
			if errors.Is(err, net.ErrClosed) {
				err = nil
			}
			e.finish(func() { e.accepted = true })
			e.over <- err
			return
		}
	}
}

// start serves c.
func (e *echoing) start(c net.Conn) {
	e.connections.Add(1)
	r := &replying{Conn: c, tally: e.tally(), moved: moves{of: c}}
	r.moved.at(time.Now())
	e.mu.Lock()
	e.conns[r] = &r.moved
	if !e.last.IsZero() { // too late to be served
		_ = c.SetReadDeadline(longAgo)
	}
	e.mu.Unlock()
	if err := e.run(func() { e.serve(r) }); err != nil {
		e.drop(r)
	}
}

// longAgo is a deadline that ends what waits.
var longAgo = time.Unix(1, 0)

// serve sends back what comes on r until the client has closed its side. io.Copy has the connection keep the buffer, if
// it can: then it has one only while there are bytes to be sent back.
func (e *echoing) serve(r *replying) {
	defer e.drop(r)
	_, err := io.Copy(reply{r}, r.Conn)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	// The server stops. What has been read is answered. A client that gets to know so before the connection is closed
	// loses no answer: to close while its bytes are still coming in would reset the connection.
	e.mu.Lock()
	r.answered = true
	_ = r.SetReadDeadline(e.last)
	e.mu.Unlock()
	if closeWrite(r.Conn) == nil {
		discard(r.Conn)
	}
}

// replying is a connection on which what comes is sent back.
type replying struct {
	net.Conn
	tally    *tally
	moved    moves
	answered bool // all that was read is answered, and nothing more is read
}

// reply is the writer that sends back what one read has brought.
type reply struct{ to *replying }

func (r reply) Write(p []byte) (int, error) {
	start := time.Now()
	r.to.moved.at(start)
	n, err := r.to.Conn.Write(p)
	end := time.Now()
	if n > 0 { // perhaps the client was slow to take them
		r.to.moved.at(end)
	}
	r.to.tally.in.Add(int64(len(p)))
	r.to.tally.out.Add(int64(n))
	if err == nil {
		r.to.tally.request(end.Sub(start))
	}
	return n, err
}

func (e *echoing) drop(r *replying) {
	_ = r.Close()
	e.finish(func() { delete(e.conns, r) })
}

// finish does what may have the server be idle.
func (e *echoing) finish(change func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change()
	if e.accepted && len(e.conns) == 0 {
		close(e.none)
	}
}

func (e *echoing) stop(ctx context.Context) (cut int, left []string) {
	_ = e.listener.Close()
	e.mu.Lock()
	e.last, _ = ctx.Deadline()
	for r := range e.conns {
		_ = r.SetReadDeadline(longAgo)
	}
	e.mu.Unlock()
	select {
	case <-e.none:
		return 0, nil
	case <-ctx.Done():
	}
	e.mu.Lock()
	var list []net.Conn
	for r := range e.conns {
		list = append(list, r)
		if !r.answered {
			cut++
		}
	}
	e.mu.Unlock()
	for _, c := range list {
		_ = c.Close()
	}
	<-e.none // what a connection waits for ends with it
	return cut, nil
}
