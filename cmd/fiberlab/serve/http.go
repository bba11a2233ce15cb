package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// HTTP is a server of net/http with three resources: / is a line of text, /bytes/N is N bytes, and /echo is the body of
// the request.
func HTTP() Program { return httpProgram{"http", handlers} }

// MostBytes is the largest N of /bytes/N.
const MostBytes = 1 << 30

// handlers are the resources of HTTP.
func handlers(*site) (http.Handler, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "fiberlab serves /, /bytes/N and /echo\n")
	})
	mux.HandleFunc("GET /bytes/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.ParseInt(r.PathValue("n"), 10, 64)
		if err != nil || n < 0 || n > MostBytes {
			http.Error(w, fmt.Sprintf("/bytes/N: give an N from 0 to %d", MostBytes), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Length", strconv.FormatInt(n, 10))
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = io.CopyN(w, &pattern{}, n)
	})
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		_ = http.NewResponseController(w).EnableFullDuplex() // else a body that is longer than the buffers would be cut
		_, _ = io.Copy(w, r.Body)
	})
	return mux, nil
}

// pattern is an endless sequence of bytes, the same one each time: byte i is i*i/251.
type pattern struct{ at uint64 }

func (p *pattern) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(p.at * p.at / 251)
		p.at++
	}
	return len(b), nil
}

// httpProgram is a server of net/http.
type httpProgram struct {
	called  string
	handler func(s *site) (http.Handler, error)
}

func (p httpProgram) name() string { return p.called }

func (p httpProgram) begin(s *site, l net.Listener) (session, error) {
	handler, err := p.handler(s)
	if err != nil {
		return nil, err
	}
	h := &httping{site: s, over: make(chan error, 1)}
	h.conns = map[*metered]*moves{}
	h.server = &http.Server{
		Handler:           h.noted(handler),
		ReadHeaderTimeout: max(s.header, 0),
		ConnState:         h.changed,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, meteredKey{}, meteredOf(c))
		},
		// What it logs are attempts to accept that failed, which meteredListener counts, and faults of clients.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() {
		err := h.server.Serve(&meteredListener{l, s})
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		h.over <- err
	}()
	return h, nil
}

// meteredKey is the key of a request's connection in its context.
type meteredKey struct{}

// noted has each connection know the request that is under way. net/http calls handlers for whole headers alone.
// What it answers itself (OPTIONS *, a bad Expect) does not count.
func (h *httping) noted(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := r.Context().Value(meteredKey{}).(*metered)
		c.began = time.Now()
		c.used.Store(true)
		h.busy.Add(1)
		c.request.Store(r)
		defer c.request.Store(nil)
		handler.ServeHTTP(w, r)
	})
}

// httping is such a server at work.
type httping struct {
	*site
	server *http.Server
	over   chan error
	busy   atomic.Int64 // connections with a request under way

	openConns[*metered]
	stopping bool // guarded by mu
}

func (h *httping) ended() <-chan error { return h.over }

// changed counts a request when its answer has been sent. net/http calls it on the connection's goroutine; for
// StateNew, Serve calls it.
func (h *httping) changed(c net.Conn, state http.ConnState) {
	m := meteredOf(c)
	if !m.began.IsZero() {
		m.tally.request(time.Since(m.began))
		m.began = time.Time{}
		h.busy.Add(-1)
	}
	switch state {
	case http.StateNew:
		h.add(m)
	case http.StateClosed, http.StateHijacked:
		h.mu.Lock()
		delete(h.conns, m)
		h.mu.Unlock()
	}
}

// add remembers a connection. If the server stops, it is closed: no request has been read.
func (h *httping) add(m *metered) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conns[m] = &m.moved
	if h.stopping {
		_ = m.Close()
	}
}

// afterCut is how long handlers may take to end whose connections have been closed.
const afterCut = 2 * time.Second

// stop has net/http shut the server down. It would give connections that have sent nothing five seconds, so those are
// closed first. A handler that waits for something else than its connection may never end: stop leaves it behind.
func (h *httping) stop(ctx context.Context) (cut int, left []string) {
	h.mu.Lock()
	h.stopping = true
	for c := range h.conns {
		if !c.used.Load() {
			_ = c.Close()
		}
	}
	h.mu.Unlock()
	if h.server.Shutdown(ctx) != nil {
		cut = int(h.busy.Load())
		go func() { _ = h.server.Close() }() // with TLS it may wait for clients
	}
	for late := time.Now().Add(afterCut); h.open() > 0 && time.Now().Before(late); { // their goroutines need a moment
		time.Sleep(time.Millisecond)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.conns {
		if r := c.request.Load(); r != nil {
			left = append(left, r.Method+" "+r.URL.Path)
		}
	}
	slices.Sort(left)
	return cut, left
}

// meteredListener gives connections that count their bytes.
type meteredListener struct {
	net.Listener
	site *site
}

func (l *meteredListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		if exhausted(err) {
			l.site.refuse(err)
		}
		return nil, err
	}
	l.site.connections.Add(1)
	m := &metered{Conn: c, tally: l.site.tally(), moved: moves{of: c}}
	m.moved.at(time.Now())
	if to, ok := c.(io.ReaderFrom); ok {
		return &sender{m, to}, nil
	}
	return m, nil
}

// meteredOf is the metered connection in c, which Accept has returned.
func meteredOf(c net.Conn) *metered {
	if s, ok := c.(*sender); ok {
		return s.metered
	}
	return c.(*metered)
}

// metered is a connection that counts its bytes, and notes when they move.
type metered struct {
	net.Conn
	tally   *tally
	moved   moves
	began   time.Time                    // when the request that is under way was read; zero: there is none
	used    atomic.Bool                  // a request has been read
	request atomic.Pointer[http.Request] // that a handler answers
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	m.count(&m.tally.in, int64(n))
	return n, err
}

func (m *metered) Write(p []byte) (int, error) {
	n, err := m.Conn.Write(p)
	m.count(&m.tally.out, int64(n))
	return n, err
}

// count counts bytes that have moved.
func (m *metered) count(sum *atomic.Int64, n int64) {
	if n > 0 {
		sum.Add(n)
		m.moved.at(time.Now())
	}
}

// pieceSize is how much of a file is handed to a connection at a time: then it is known that bytes move.
const pieceSize = 256 << 10

// sender is a connection of package net, which has the kernel send a file.
type sender struct {
	*metered
	to io.ReaderFrom
}

// ReadFrom leaves a file to the connection. net/http calls it after it has written the header. Without it, header and
// small file are one write.
func (s *sender) ReadFrom(r io.Reader) (sum int64, err error) {
	whole, ok := r.(*io.LimitedReader) // net/http has one around a file; package net does not see through two of them
	if !ok {
		whole = &io.LimitedReader{R: r, N: math.MaxInt64}
	}
	for err == nil && whole.N > 0 {
		piece := io.LimitedReader{R: whole.R, N: min(whole.N, pieceSize)}
		var n int64
		n, err = s.to.ReadFrom(&piece)
		s.count(&s.tally.out, n)
		whole.N -= n
		sum += n
		if piece.N > 0 { // the end of r
			break
		}
	}
	return sum, err
}
