package serve_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// dial connects by Go's own net. The connection is closed at the end of the test.
func dial(t *testing.T, address string) patient {
	t.Helper()
	c, err := connect(address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func connect(address string) (patient, error) {
	c, err := net.DialTimeout("tcp", address, timeout)
	if err != nil {
		return patient{}, err
	}
	return patient{c.(*net.TCPConn)}, nil
}

// patient is a connection whose calls wait as long as bytes move on any of its kind. So a server that is slow, because
// it has very many of them, is not taken for one that hangs.
type patient struct{ *net.TCPConn }

// moved is how many bytes have been sent and received by connections that are patient.
var moved atomic.Int64

func (c patient) Read(p []byte) (int, error) {
	return c.wait(c.SetReadDeadline, func() (int, error) { return c.TCPConn.Read(p) })
}

func (c patient) Write(p []byte) (sent int, err error) {
	_, err = c.wait(c.SetWriteDeadline, func() (int, error) {
		n, err := c.TCPConn.Write(p[sent:])
		sent += n
		return n, err
	})
	return sent, err
}

// wait makes a call again that has ended by its deadline, unless nothing has moved during the call.
func (c patient) wait(setDeadline func(time.Time) error, call func() (int, error)) (int, error) {
	for {
		before := moved.Load()
		if err := setDeadline(time.Now().Add(timeout)); err != nil {
			return 0, err
		}
		n, err := call()
		if now := moved.Add(int64(n)); now == before || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
}

// WriteTo is what io.Copy would call instead of Read.
func (c patient) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, struct{ io.Reader }{c}) }

// stream is a sequence of random bytes that depends on its seed alone.
func stream(seed uint64) *rand.ChaCha8 {
	var key [32]byte
	for i := range 8 {
		key[i] = byte(seed >> (8 * i))
	}
	return rand.NewChaCha8(key)
}

// sends has pieces of random sizes sent, n bytes altogether, and then says that nothing follows.
func sends(c net.Conn, seed uint64, n, most int) error {
	from := stream(seed)
	sizes := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, most)
	for n > 0 {
		piece := b[:min(n, 1+sizes.IntN(most))]
		_, _ = from.Read(piece)
		if _, err := c.Write(piece); err != nil {
			return err
		}
		n -= len(piece)
	}
	return c.(interface{ CloseWrite() error }).CloseWrite()
}

// fill sends what from has until the kernel takes nothing more for that long, and returns how many bytes it has taken.
func fill(t *testing.T, c patient, from io.Reader, still time.Duration) (sent int) {
	t.Helper()
	for b := make([]byte, 1<<16); ; {
		_, _ = from.Read(b)
		require.NoError(t, c.SetWriteDeadline(time.Now().Add(still)))
		n, err := c.TCPConn.Write(b)
		sent += n
		if err != nil {
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			return sent
		}
	}
}

// returns checks that these n bytes come back, by their checksum, and then the end.
func returns(c io.Reader, seed uint64, n int) error {
	got, want := sha256.New(), sha256.New()
	came, err := io.Copy(got, c)
	_, _ = io.CopyN(want, stream(seed), int64(n))
	switch {
	case err != nil:
		return fmt.Errorf("after %d of %d bytes: %w", came, n, err)
	case came != int64(n):
		return fmt.Errorf("%d bytes came back of %d", came, n)
	case !bytes.Equal(got.Sum(nil), want.Sum(nil)):
		return errors.New("the bytes that came back are others")
	}
	return nil
}

// converse sends n bytes of that seed in pieces of at most so many bytes, while it reads what comes back.
func converse(address string, seed uint64, n, most int) error {
	c, err := connect(address)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	var both errgroup.Group
	both.Go(func() error { return sends(c, seed, n, most) })
	both.Go(func() error { return returns(c, seed, n) })
	return both.Wait()
}

// exchange sends b, and checks that it comes back.
func exchange(c net.Conn, b []byte) error {
	if _, err := c.Write(b); err != nil {
		return err
	}
	got := make([]byte, len(b))
	if n, err := io.ReadFull(c, got); err != nil {
		return fmt.Errorf("%d of %d bytes came back: %w", n, len(b), err)
	}
	if !bytes.Equal(b, got) {
		return fmt.Errorf("sent %q, got %q", b, got)
	}
	return nil
}
