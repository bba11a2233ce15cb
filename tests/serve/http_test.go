package serve_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fiberlab/cmd/fiberlab/serve"
	"fiberlab/tests/internal/suite"
)

// browser returns a client of net/http, whose connections end with the test.
func browser(t *testing.T) *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 100}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: timeout}
}

// get returns the answer to a request, and its body.
func get(c *http.Client, request *http.Request) (*http.Response, []byte, error) {
	r, err := c.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	return r, body, err
}

// fetch gets the first resource of the HTTP server by a connection that stays open.
func fetch(c net.Conn) error {
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return err
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(r.Body)
	if err == nil && (r.StatusCode != http.StatusOK || !bytes.HasPrefix(text, []byte("fiberlab serves "))) {
		err = fmt.Errorf("%s: %q", r.Status, text)
	}
	return err
}

func request(t *testing.T, method, url string, body io.Reader) *http.Request {
	r, err := http.NewRequest(method, url, body)
	require.NoError(t, err)
	return r
}

// The resources of the HTTP server, by clients that keep their connections.
func TestHTTP(t *testing.T) {
	eachSetup(t, func(t *testing.T, o serve.Setup) {
		s := start(t, serve.HTTP(), o)
		c := browser(t)
		url := "http://" + s.Address
		var all errgroup.Group
		seed := suite.NewRand(t).Uint64()
		for i := range 10 {
			body := make([]byte, 50_000*i)
			_, _ = stream(seed + uint64(i)).Read(body)
			sent := request(t, "POST", url+"/echo", bytes.NewReader(body))
			asked := request(t, "GET", fmt.Sprintf("%s/bytes/%d", url, 30_000*i), nil)
			all.Go(func() error {
				switch r, got, err := get(c, sent); {
				case err != nil:
					return err
				case r.StatusCode != http.StatusOK || !bytes.Equal(body, got):
					return fmt.Errorf(
						"%s, and %d bytes, which are others than the %d sent", r.Status, len(got), len(body),
					)
				}
				switch r, got, err := get(c, asked); {
				case err != nil:
					return err
				case r.StatusCode != http.StatusOK || len(got) != 30_000*i || r.ContentLength != int64(len(got)):
					return fmt.Errorf("%s, and %d bytes", r.Status, len(got))
				}
				return nil
			})
		}
		require.NoError(t, all.Wait())
		for path, status := range map[string]int{
			"/": 200, "/bytes/-1": 400, "/bytes/x": 400, "/bytes/1073741825": 400, "/nothing": 404,
		} {
			r, _, err := get(c, request(t, "GET", url+path, nil))
			require.NoError(t, err)
			require.Equal(t, status, r.StatusCode, path)
		}
		half := dial(t, s.Address)
		_, err := io.WriteString(half, "GET / HT")
		require.NoError(t, err)
		require.NoError(t, half.CloseWrite())
		_, err = io.ReadAll(half)
		require.NoError(t, err)
		f := s.end()
		require.EqualValues(t, 25, f.Requests, "half a request is none")
		require.Greater(t, f.BytesOut, int64(50_000*45))
		require.LessOrEqual(t, f.Connections, int64(26))
	})
}

// A server that is told to stop finishes the request that is under way.
func TestHTTPStops(t *testing.T) {
	eachSetup(t, func(t *testing.T, o serve.Setup) {
		o.Grace = timeout
		s := start(t, serve.HTTP(), o)
		first, last := make([]byte, 100_000), []byte("and good-bye")
		_, _ = stream(suite.NewRand(t).Uint64()).Read(first)
		in, out := io.Pipe()
		go func() { _, _ = out.Write(first) }()
		// returns when the answer has begun
		r, err := browser(t).Do(request(t, "POST", "http://"+s.Address+"/echo", in))
		require.NoError(t, err)
		defer func() { _ = r.Body.Close() }()
		got := make([]byte, len(first))
		_, err = io.ReadFull(r.Body, got[:len(first)/2])
		require.NoError(t, err)
		s.stop()
		require.Equal(t, 1, <-s.stopping)
		go func() {
			_, _ = out.Write(last)
			_ = out.Close()
		}()
		rest, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		copy(got[len(first)/2:], rest)
		require.Equal(t, sha256.Sum256(first), sha256.Sum256(got))
		require.Equal(t, string(last), string(rest[len(first)/2:]))
		f := s.end()
		require.EqualValues(t, 1, f.Requests)
		require.Zero(t, f.Cut)
	})
}

// A request that does not end is cut off.
func TestHTTPCutsOff(t *testing.T) {
	eachSetup(t, func(t *testing.T, o serve.Setup) {
		o.Grace = 20 * time.Millisecond
		s := start(t, serve.HTTP(), o)
		c := dial(t, s.Address)
		_, err := c.Write([]byte("GET /bytes/1000000000 HTTP/1.1\r\nHost: x\r\n\r\n"))
		require.NoError(t, err)
		_, err = io.ReadFull(c, make([]byte, 1000))
		require.NoError(t, err)
		_, err = s.wait()
		var cut *serve.CutError
		require.ErrorAs(t, err, &cut)
		require.Equal(t, 1, cut.Connections)
	})
}

// tree makes a folder of files, and returns their checksums by their paths.
func tree(t *testing.T) (dir string, sums map[string][32]byte) {
	dir, sums = t.TempDir(), map[string][32]byte{}
	for i, path := range []string{"empty", "small", "a page", "below/large"} {
		b := make([]byte, []int{0, 10, 4096, 1<<20 + 1}[i])
		_, _ = stream(suite.Seed() + uint64(i)).Read(b)
		name := filepath.Join(dir, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, b, 0o644))
		sums[path] = sha256.Sum256(b)
	}
	return dir, sums
}

func TestFiles(t *testing.T) {
	eachSetup(t, func(t *testing.T, o serve.Setup) {
		dir, sums := tree(t)
		s := start(t, serve.Files(dir), o)
		c := browser(t)
		url := "http://" + s.Address + "/"
		var all errgroup.Group
		for path, sum := range sums {
			for range 3 {
				asked := request(t, "GET", url+strings.ReplaceAll(path, " ", "%20"), nil)
				all.Go(func() error {
					r, got, err := get(c, asked)
					if err == nil && (r.StatusCode != http.StatusOK || sha256.Sum256(got) != sum) {
						err = fmt.Errorf("%s: %s, and %d bytes, which are others", path, r.Status, len(got))
					}
					return err
				})
			}
		}
		require.NoError(t, all.Wait())

		part := request(t, "GET", url+"below/large", nil)
		part.Header.Set("Range", "bytes=1000000-1000009")
		r, got, err := get(c, part)
		require.NoError(t, err)
		require.Equal(t, http.StatusPartialContent, r.StatusCode)
		want, err := os.ReadFile(filepath.Join(dir, "below/large"))
		require.NoError(t, err)
		require.Equal(t, want[1000000:1000010], got)

		r, got, err = get(c, request(t, "HEAD", url+"below/large", nil))
		require.NoError(t, err)
		require.EqualValues(t, len(want), r.ContentLength)
		require.Empty(t, got)

		_, got, err = get(c, request(t, "GET", url, nil))
		require.NoError(t, err)
		require.Contains(t, string(got), `<a href="a%20page">a page</a>`)
		for _, path := range []string{"nothing", "small/below", "..%2f..%2fetc%2fpasswd"} {
			r, _, err = get(c, request(t, "GET", url+path, nil))
			require.NoError(t, err)
			require.GreaterOrEqual(t, r.StatusCode, 400, path)
			require.Less(t, r.StatusCode, 500, path)
		}
		require.EqualValues(t, 3*len(sums)+6, s.end().Requests)
	})
}

// The same over TLS: net/http, and connections that have a fiber each.
func TestTLS(t *testing.T) {
	eachSetup(t, func(t *testing.T, o serve.Setup) {
		o.TLS = true
		s := start(t, serve.HTTP(), o)
		_, got, err := get(browser(t), request(t, "GET", "https://"+s.Address+"/bytes/100000", nil))
		require.NoError(t, err)
		require.Len(t, got, 100_000)
		s.end()

		s = start(t, serve.Echo(), o)
		seed := suite.NewRand(t).Uint64()
		var all errgroup.Group
		for i := range uint64(10) {
			all.Go(func() error {
				c, err := tls.DialWithDialer(
					&net.Dialer{Timeout: timeout}, "tcp", s.Address, &tls.Config{InsecureSkipVerify: true},
				)
				if err != nil {
					return err
				}
				defer func() { _ = c.Close() }()
				var both errgroup.Group
				both.Go(func() error { return sends(c, seed+i, 200_000, 50_000) })
				both.Go(func() error { return returns(c, seed+i, 200_000) })
				return both.Wait()
			})
		}
		require.NoError(t, all.Wait())
		require.EqualValues(t, 10*200_000, s.end().BytesIn)
	})
}
