package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// HTTP is a server of net/http with three resources: / is a line of text, /bytes/N is N bytes, and /echo is the body of the request.
func HTTP() Program { return httpProgram{"http", handlers} }

// Files is a server of net/http that has the files below dir. Links that lead out of dir are followed. If dir is no folder, Run returns
// a *SetupError.
func Files(dir string) Program {
	return httpProgram{"files", func(s *site) (http.Handler, error) {
		info, err := os.Stat(dir)
		switch {
		case err != nil:
			return nil, wrongFolder(dir, innermost(err))
		case !info.IsDir():
			return nil, wrongFolder(dir, errors.New("not a directory"))
		}
		folder, err := s.folder(dir)
		if err != nil {
			return nil, err
		}
		return http.FileServerFS(folder), nil
	}}
}

func wrongFolder(dir string, err error) error {
	return &SetupError{strconv.Quote(dir), err, "name a directory"}
}

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
	h := &httping{site: s, over: make(chan error, 1), fresh: map[net.Conn]struct{}{}}
	h.server = &http.Server{
		Handler:   handler,
		ConnState: h.changed,
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

// httping is such a server at work.
type httping struct {
	*site
	server *http.Server
	over   chan error
	conns  atomic.Int64
	busy   atomic.Int64 // those with a request under way

	mu       sync.Mutex
	fresh    map[net.Conn]struct{} // those on which no request has been read yet
	stopping bool
}

func (h *httping) ended() <-chan error { return h.over }
func (h *httping) open() int           { return int(h.conns.Load()) }

// changed counts requests: a connection is active from the moment that a request has been read until its answer has been sent. It is called on the connection's
// goroutine.
func (h *httping) changed(c net.Conn, state http.ConnState) {
	m := c.(*metered)
	switch state {
	case http.StateNew:
		h.conns.Add(1)
		h.keep(m)
	case http.StateActive:
		m.began = time.Now()
		h.forget(m)
		h.busy.Add(1)
		return
	case http.StateClosed, http.StateHijacked:
		h.conns.Add(-1)
		h.forget(m)
	}
	if !m.began.IsZero() {
		m.tally.request(time.Since(m.began))
		m.began = time.Time{}
		h.busy.Add(-1)
	}
}

// keep remembers a connection on which no request has been read. If the server stops, it is closed.
func (h *httping) keep(m *metered) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fresh[m] = struct{}{}
	if h.stopping {
		_ = m.Close()
	}
}

func (h *httping) forget(m *metered) {
	if !m.used {
		m.used = true
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.fresh, m)
	}
}

// stop has net/http shut the server down. It would give connections that have sent nothing five seconds, so those are closed first.
func (h *httping) stop(ctx context.Context) (cut int) {
	h.mu.Lock()
	h.stopping = true
	for c := range h.fresh {
		_ = c.Close()
	}
	h.mu.Unlock()
	if h.server.Shutdown(ctx) != nil {
		cut = int(h.busy.Load())
		_ = h.server.Close()
	}
	for h.open() > 0 { // the goroutines of connections that have been closed need a moment
		time.Sleep(time.Millisecond)
	}
	return cut
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
	return &metered{Conn: c, tally: l.site.tally()}, nil
}

// metered is a connection that counts its bytes.
type metered struct {
	net.Conn
	tally *tally
	began time.Time // when the request that is under way was read; zero: there is none
	used  bool      // a request has been read
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	m.tally.in.Add(int64(n))
	return n, err
}

func (m *metered) Write(p []byte) (int, error) {
	n, err := m.Conn.Write(p)
	m.tally.out.Add(int64(n))
	return n, err
}

// ReadFrom leaves a file to the connection, which may know a shorter way than by reading it.
func (m *metered) ReadFrom(r io.Reader) (n int64, err error) {
	if to, ok := m.Conn.(io.ReaderFrom); ok {
		n, err = to.ReadFrom(r)
	} else {
		n, err = io.Copy(struct{ io.Writer }{m.Conn}, r)
	}
	m.tally.out.Add(n)
	return n, err
}
