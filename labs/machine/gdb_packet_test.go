package machine

import (
	"bufio"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pretended serves a connection as the stub of qemu-user does. It takes up to 256 bytes that are there, and answers
// each packet in them by answer. After each answer it takes one byte, which must be a +. It returns what was wrong,
// after the end of the connection.
func pretended(c net.Conn, answer func(request string) string) error {
	taken := make([]byte, 256)
	for {
		n, err := c.Read(taken)
		if err != nil {
			return nil
		}
		rest := strings.TrimLeft(string(taken[:n]), "+")
		for rest != "" {
			request, after, whole := strings.Cut(strings.TrimPrefix(rest, "$"), "#")
			if !whole || len(after) < 2 || rest[0] != '$' {
				return fmt.Errorf("it got %q, which is no whole packet", rest)
			}
			rest = after[2:]
			if _, err := c.Write([]byte("+" + packet(answer(request)))); err != nil {
				return err
			}
			acknowledged := taken[:1]
			if rest != "" {
				acknowledged = make([]byte, 1)
			}
			if _, err := c.Read(acknowledged); err != nil {
				return nil
			}
			if acknowledged[0] != '+' {
				return fmt.Errorf("after its answer to %q it got %q instead of a +", request, acknowledged)
			}
		}
	}
}

// converse returns a stub whose other end is pretended, and a function that ends both and returns what was wrong.
func converse(t *testing.T, answer func(request string) string) (*stub, func()) {
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "stub"))
	require.NoError(t, err)
	defer listener.Close()
	near, err := net.Dial("unix", listener.Addr().String())
	require.NoError(t, err)
	far, err := listener.Accept()
	require.NoError(t, err)
	wrong := make(chan error, 1)
	go func() {
		defer far.Close()
		wrong <- pretended(far, answer)
	}()
	return &stub{connection: near, reader: bufio.NewReader(near)}, func() {
		require.NoError(t, near.Close())
		require.NoError(t, <-wrong)
	}
}

// Many packets at once are answered in their order, and each answer gets its + although it comes with later packets.
func TestPacketsAtOnce(t *testing.T) {
	s, end := converse(t, func(request string) string {
		if request == "die" {
			return "W00"
		}
		return fmt.Sprintf("%x", request)
	})
	defer end()
	for round := range 50 {
		var requests []string
		for i := range 1 + round*7%90 {
			requests = append(requests, "p"+strings.Repeat("x", i*round%40)+fmt.Sprint(i))
		}
		if round%10 == 3 {
			requests = append(requests, strings.Repeat("y", atOnce-len(packet("")))) // as much as is taken at once
		}
		values, err := s.values(requests...)
		require.NoError(t, err)
		for i, value := range values {
			require.Equal(t, requests[i], string(value))
		}
		single, err := s.ask("?")
		require.NoError(t, err)
		require.Equal(t, "3f", string(single))
	}
	_, err := s.ask("die")
	require.NoError(t, err)
	require.Zero(t, s.owed, "qemu ends when its last packet has had its +")
}

// What the stub refuses is named, also among many.
func TestRefusalAmongMany(t *testing.T) {
	s, end := converse(t, func(request string) string {
		if request == "p2" {
			return "E14"
		}
		return "OK"
	})
	defer end()
	err := s.order("p1", "p2", "p3")
	require.ErrorAs(t, err, &refusal{})
	require.ErrorContains(t, err, `answers "E14" to "p2"`)
}
