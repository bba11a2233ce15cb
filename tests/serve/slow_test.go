package serve_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"fiberlab/cmd/fiberlab/serve"
)

// short is the time that servers give clients in tests of those that are slow.
const short = 200 * time.Millisecond

// drained reads what the server sends until it has closed its side, or reset the connection, and returns how much that
// was.
func drained(c net.Conn) (int64, error) {
	n, err := io.Copy(io.Discard, c)
	if errors.Is(err, syscall.ECONNRESET) {
		err = nil
	}
	return n, err
}

// saysAndWaits sends text, and waits until the server has closed its side.
func saysAndWaits(c net.Conn, text string) error {
	if _, err := io.WriteString(c, text); err != nil {
		return err
	}
	_, err := drained(c)
	return err
}

// trickles sends a part of a header, a byte a time, until the server has closed the connection.
func trickles(c net.Conn) error {
	_, err := io.WriteString(c, "GET / HTTP/1.1\r\nX: ")
	for end := time.Now().Add(timeout); err == nil; time.Sleep(short / 40) {
		if time.Now().After(end) {
			return errors.New("the server waits for the rest of the header")
		}
		_, err = io.WriteString(c, "x")
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return nil
}

// Clients that begin and do not go on, and clients that take very long, do not keep their connections.
func TestSlowClients(t *testing.T) {
	slow := map[string]func(c net.Conn) error{
		"silent":      func(c net.Conn) error { return saysAndWaits(c, "") },
		"half header": func(c net.Conn) error { return saysAndWaits(c, "GET / HTTP/1.1\r\nHost: x\r\n") },
		"long header": trickles,
		"half body": func(c net.Conn) error {
			return saysAndWaits(c, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf")
		},
		"no body": func(c net.Conn) error {
			return saysAndWaits(c, "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
		},
		"next request": func(c net.Conn) error { return saysAndWaits(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n") },
	}
	someSetups(t, func(t *testing.T, o serve.Setup) {
		for _, tls := range []bool{false, true} {
			o.TLS, o.Idle, o.Header = tls, short, short
			s := start(t, serve.HTTP(), o)
			var all errgroup.Group
			for what, client := range slow {
				c := dial(t, s.Address)
				all.Go(func() error {
					if err := client(c); err != nil {
						return fmt.Errorf("%s: %w", what, err)
					}
					return nil
				})
			}
			require.NoError(t, all.Wait())
			s.end()
		}
	})
}

// The same of a server that has no requests.
func TestSlowClientsOfEcho(t *testing.T) {
	someSetups(t, func(t *testing.T, o serve.Setup) {
		o.Idle = short
		s := start(t, serve.Echo(), o)
		silent, once := dial(t, s.Address), dial(t, s.Address)
		_ = exchange(once, []byte("hello")) // a client that is so slow has lost its connection already
		for _, c := range []net.Conn{silent, once} {
			_, err := drained(c)
			require.NoError(t, err)
		}
		require.EqualValues(t, 2, s.end().Idle)
	})
}

// A client that does not read loses its connection, but gets what was sent before. If it reads before the server finds
// that nothing moves, it gets everything; then the test has another one wait longer.
func TestClientThatDoesNotRead(t *testing.T) {
	const size = 100_000_000
	someSetups(t, func(t *testing.T, o serve.Setup) {
		o.Idle = short
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(size)), nil, 0o644))
		require.NoError(t, os.Truncate(filepath.Join(dir, fmt.Sprint(size)), size))
		for path, program := range map[string]serve.Program{"/bytes/": serve.HTTP(), "/": serve.Files(dir)} {
			s := start(t, program, o)
			for wait := 4 * short; ; wait *= 4 {
				require.Less(t, wait, timeout, "the server waits for a client that does not read")
				c := dial(t, s.Address)
				_, err := fmt.Fprintf(c, "GET %s%d HTTP/1.1\r\nHost: x\r\n\r\n", path, size)
				require.NoError(t, err)
				time.Sleep(wait)
				n, err := drained(c)
				require.NoError(t, err)
				if n < size {
					break
				}
			}
			require.Positive(t, s.end().Idle)
		}
	})
}

// A server of files opens neither pipes nor sockets nor devices: to open or read one may never end.
func TestFilesServesFilesAlone(t *testing.T) {
	oneSetup(t, func(t *testing.T, o serve.Setup) {
		dir := t.TempDir()
		in := func(name string) string { return filepath.Join(dir, name) }
		require.NoError(t, unix.Mkfifo(in("pipe"), 0o644))
		require.NoError(t, os.Symlink("pipe", in("link")))
		require.NoError(t, os.Symlink("/dev/zero", in("device")))
		l, err := net.Listen("unix", in("socket"))
		require.NoError(t, err)
		defer func() { require.NoError(t, l.Close()) }()
		require.NoError(t, os.WriteFile(in("file"), []byte("a file"), 0o644))
		require.NoError(t, os.Symlink("file", in("good")))
		s := start(t, serve.Files(dir), o)
		c := browser(t)
		for name, status := range map[string]int{
			"pipe": 403, "link": 403, "device": 403, "socket": 403, "none": 404, "file": 200, "good": 200,
			"": 200,
		} {
			for range 3 {
				r, _, err := get(c, request(t, "GET", "http://"+s.Address+"/"+name, nil))
				require.NoError(t, err, name)
				require.Equal(t, status, r.StatusCode, "%q: %s", name, http.StatusText(r.StatusCode))
			}
		}
		require.EqualValues(t, 24, s.end().Requests)
	})
}
