package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/uring"
)

// Why a server cannot listen is told without the names of system calls, and with what helps.
func TestExplain(t *testing.T) {
	wrapped := func(errno syscall.Errno) error {
		return &net.OpError{Op: "listen", Net: "tcp", Err: os.NewSyscallError("bind", errno)}
	}
	for want, err := range map[string]error{
		"permission denied: ports below 1024 are the administrator's: choose one from 1024 up, " +
			"or 0 for any free one": wrapped(syscall.EACCES),
		"address already in use: choose another port, or 0 for any free one": wrapped(syscall.EADDRINUSE),
		"too many open files: no descriptor is left: raise ulimit -n":        wrapped(syscall.EMFILE),
		"no such host: name an address of this machine: 127.0.0.1 for clients on it alone, " +
			"0.0.0.0 for all": &net.OpError{Op: "listen", Err: &net.DNSError{Err: "no such host", Name: "x"}},
	} {
		got := explain("x:80", err)
		var wrong *SetupError
		require.ErrorAs(t, got, &wrong)
		require.Equal(t, `cannot serve on "x:80": `+want, got.Error())
	}
	odd := errors.New("odd")
	require.ErrorIs(t, explain("x:80", odd), odd)
}

// A handler that never ends, whatever becomes of its connection, does not keep the server from stopping. Its request is
// named.
func TestHandlerThatNeverEnds(t *testing.T) {
	for name, engines := range map[string]*uring.Options{"go": nil, "epoll": {Driver: uring.Epoll}} {
		t.Run(name, func(t *testing.T) {
			begun, release := make(chan bool, 2), make(chan struct{})
			stuck := httpProgram{"stuck", func(*site) (http.Handler, error) {
				return http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
					begun <- true
					<-release
				}), nil
			}}
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			listening := make(chan At, 1)
			over := make(chan error, 1)
			go func() {
				_, err := Run(ctx, stuck, Setup{
					Grace:     time.Millisecond,
					Engines:   engines,
					Scheduler: sched.Config{Workers: 1},
					Listening: func(at At) { listening <- at },
				})
				over <- err
			}()
			at := <-listening
			for i := range 2 {
				c, err := net.Dial("tcp", at.Address)
				require.NoError(t, err)
				defer func() { require.NoError(t, c.Close()) }()
				_, err = fmt.Fprintf(c, "GET /%d HTTP/1.1\r\nHost: x\r\n\r\n", i)
				require.NoError(t, err)
				<-begun
			}
			stop()
			err := <-over
			var cut *CutError
			require.ErrorAs(t, err, &cut)
			require.Equal(t, CutError{2, time.Millisecond, []string{"GET /0", "GET /1"}}, *cut)
			require.Equal(t, "2 connections were cut before all was finished, 1ms after the order to stop, "+
				"and the handlers of GET /0, GET /1 go on: allow more time", err.Error())
			close(release)
		})
	}
}

// source is an answer that notes what it is read from.
type source struct {
	*httptest.ResponseRecorder
	file io.Reader
}

func (s *source) ReadFrom(r io.Reader) (int64, error) {
	s.file = r.(*io.LimitedReader).R
	return io.Copy(s.ResponseRecorder, r)
}

// A file reaches the connection as package os has opened it: so the kernel can send it.
func TestFilesAreSentByTheKernel(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/file", []byte("text"), 0o600))
	files, err := Files(dir).(httpProgram).handler(nil)
	require.NoError(t, err)
	w := &source{ResponseRecorder: httptest.NewRecorder()}
	files.ServeHTTP(w, httptest.NewRequest("GET", "/file", nil))
	require.Equal(t, "text", w.Body.String())
	require.Implements(t, (*syscall.Conn)(nil), w.file)
}

// countedListener counts the writes to its connections, which cannot have the kernel send a file.
type countedListener struct {
	net.Listener
	writes atomic.Int64
}

type countedConn struct {
	net.Conn
	writes *atomic.Int64
}

func (l *countedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countedConn{c, &l.writes}, err
}

func (c countedConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// The header of an answer and a small file are one write, unless the kernel sends the file.
func TestSmallFileIsOneWrite(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/file", make([]byte, 1000), 0o600))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	counted := &countedListener{Listener: l}
	h, err := Files(dir).(httpProgram).begin(&site{}, counted)
	require.NoError(t, err)
	r, err := http.Get("http://" + l.Addr().String() + "/file")
	require.NoError(t, err)
	body, err := io.ReadAll(r.Body)
	require.NoError(t, errors.Join(err, r.Body.Close()))
	require.Len(t, body, 1000)
	require.EqualValues(t, 1, counted.writes.Load())
	http.DefaultClient.CloseIdleConnections()
	cut, left := h.stop(t.Context())
	require.Zero(t, cut)
	require.Empty(t, left)
	require.NoError(t, <-h.ended())
}

// The names of a few requests are enough.
func TestListed(t *testing.T) {
	require.Equal(t, "a", listed([]string{"a"}))
	require.Equal(t, "a, b, c, d, e", listed([]string{"a", "b", "c", "d", "e"}))
	require.Equal(t, "a, b, c, d, e and 2 others", listed([]string{"a", "b", "c", "d", "e", "f", "g"}))
}

// A connection is idle from the moment on when no byte has moved for the limit.
func TestIdle(t *testing.T) {
	a, b := &metered{}, &metered{}
	now := time.Now()
	a.moved.at(now)
	b.moved.at(now.Add(time.Second))
	conns := &openConns[*metered]{conns: map[*metered]*moves{a: &a.moved, b: &b.moved}}
	require.Empty(t, conns.idle(now.Add(-1)))
	require.Equal(t, []net.Conn{a}, conns.idle(now))
	require.Empty(t, conns.idle(now.Add(time.Second-1)), "each is returned once")
	require.Equal(t, []net.Conn{b}, conns.idle(now.Add(time.Second)))
}

// slowConn takes its time to write.
type slowConn struct {
	net.Conn
	wrote time.Time // when the last write was over
}

func (c *slowConn) Write(p []byte) (int, error) {
	time.Sleep(time.Millisecond)
	c.wrote = time.Now()
	return len(p), nil
}

// An echo connection whose client takes bytes slowly is not idle before the last ones have been taken.
func TestSlowWriteMoves(t *testing.T) {
	slow := &slowConn{}
	r := &replying{Conn: slow, tally: &tally{}}
	n, err := reply{r}.Write([]byte("hello"))
	require.NoError(t, err)
	require.Equal(t, 5, n)
	require.False(t, r.moved.before(slow.wrote.Add(-1)))
}

// A client that takes bytes that were written before keeps its connection, though there is no room to write more.
func TestSlowClientIsNotIdle(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	client, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	c, err := l.Accept()
	require.NoError(t, err)
	require.NoError(t, l.Close())
	for err == nil || queuedOn(c) == 0 {
		require.NoError(t, c.SetWriteDeadline(time.Now().Add(10*time.Millisecond)))
		_, err = c.Write(make([]byte, 1<<20))
	}
	m := &moves{of: c}
	conns, later := &openConns[net.Conn]{conns: map[net.Conn]*moves{c: m}}, time.Now().Add(time.Hour)
	require.Empty(t, conns.idle(later))
	before := m.queued
	require.Positive(t, before)
	for queuedOn(c) == before {
		_, err = client.Read(make([]byte, 1<<16))
		require.NoError(t, err)
	}
	require.Empty(t, conns.idle(later))
	for m.look() { // what the client's kernel had room for
		time.Sleep(time.Millisecond)
	}
	require.Equal(t, []net.Conn{c}, conns.idle(later))
	require.Empty(t, conns.idle(later), "each is returned once")
	require.NoError(t, client.Close())
	require.NoError(t, c.Close())
	require.Zero(t, queuedOn(c))
}
