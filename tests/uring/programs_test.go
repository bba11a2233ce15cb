package uring_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/uring"
	"fiberlab/sched/uring/fiberio"
	"fiberlab/tests/internal/leaks"
	"fiberlab/tests/internal/suite"
)

// eachEngines runs test with engines of each driver that have their own thread, and with the engines of workers.
func eachEngines(t *testing.T, test func(t *testing.T, engines *uring.Engines)) {
	eachDriver(t, func(t *testing.T, driver uring.Driver) {
		t.Run("alone", func(t *testing.T) {
			leaks.Check(t)
			engines := uring.New(uring.Options{Driver: driver})
			test(t, engines)
			require.NoError(t, engines.Close())
		})
		t.Run("attached", func(t *testing.T) {
			leaks.Check(t)
			engines, s := attach(t, uring.Options{Driver: driver}, sched.Config{Workers: 2})
			test(t, engines)
			require.NoError(t, s.Close())
			require.NoError(t, engines.Close())
		})
	})
}

// Package net/http runs on engines as it is: server and client, bodies of both kinds, connections that are used again,
// time limits, and Shutdown.
func TestHTTP(t *testing.T) {
	eachEngines(t, func(t *testing.T, engines *uring.Engines) {
		l := listen(t, engines, "tcp")
		body := bytes.Repeat([]byte("0123456789"), 20_000)
		server := &http.Server{
			ReadTimeout: time.Minute, ReadHeaderTimeout: time.Minute,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got, err := io.ReadAll(r.Body)
				if err != nil {
					http.Error(w, err.Error(), http.StatusBadRequest)
					return
				}
				_, _ = fmt.Fprintf(w, "%x %s", sha256.Sum256(got), r.URL.Path)
				if f, ok := w.(http.Flusher); ok {
					f.Flush()
				}
				_, _ = w.Write(got)
			}),
		}
		served := make(chan error, 1)
		go func() { served <- server.Serve(l) }()
		client := &http.Client{
			Transport: &http.Transport{
				DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
					c, err := fiberio.Dial(ctx, engines, network, address)
					if err != nil {
						return nil, err
					}
					return c, nil
				},
			},
		}
		var all sync.WaitGroup
		failed := make(chan error, 8)
		for i := range cap(failed) {
			all.Add(1)
			go func() {
				defer all.Done()
				for j := range 5 {
					response, err := client.Post(
						fmt.Sprintf("http://%s/%d/%d", l.Addr(), i, j), "text/plain", bytes.NewReader(body),
					)
					if err != nil {
						failed <- err
						return
					}
					got, err := io.ReadAll(response.Body)
					_ = response.Body.Close()
					if want := fmt.Sprintf("%x /%d/%d%s", sha256.Sum256(body), i, j, body); err != nil ||
						string(got) != want {
						failed <- fmt.Errorf("got %d bytes of %d: %w", len(got), len(want), err)
						return
					}
				}
			}()
		}
		all.Wait()
		require.Empty(t, failed)
		client.CloseIdleConnections() // the server would wait for connections that have not been used
		require.NoError(t, server.Shutdown(context.Background()))
		require.ErrorIs(t, <-served, http.ErrServerClosed)
		_, err := client.Get("http://" + l.Addr().String())
		require.Error(t, err)
	})
}

// A fiber reads lines by package bufio.
func TestLines(t *testing.T) {
	eachNetwork(t, func(t *testing.T, s *sched.Scheduler, engines *uring.Engines, l *fiberio.Listener) {
		client, server := pair(t, s, engines, l)
		const lines = 200
		require.NoError(t, onFibers(t, s, func() error {
			w := bufio.NewWriterSize(client, 100)
			for i := range lines {
				_, _ = fmt.Fprintf(w, "%d %s\n", i, strings.Repeat("x", i))
			}
			return errors.Join(w.Flush(), client.Close())
		}, func() error {
			r := bufio.NewScanner(server)
			n := 0
			for ; r.Scan(); n++ {
				if want := fmt.Sprintf("%d %s", n, strings.Repeat("x", n)); r.Text() != want {
					return fmt.Errorf("got %q, want %q", r.Text(), want)
				}
			}
			if n != lines {
				return fmt.Errorf("%d lines", n)
			}
			return r.Err()
		}))
	})
}

// certificate returns the configuration of servers on 127.0.0.1, and the configuration of clients that trust them.
var certificate = sync.OnceValues(func() (*tls.Config, *tls.Config) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	parsed, err := x509.ParseCertificate(raw)
	if err != nil {
		panic(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return &tls.Config{
			Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}},
		}, &tls.Config{
			RootCAs: pool, ServerName: "127.0.0.1",
		}
})

// speak sends data over c, whose peer answers, and compares what comes back.
func speak(c net.Conn, data []byte) error {
	got := make([]byte, len(data))
	for range 3 {
		if _, err := c.Write(data); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, data) {
			return fmt.Errorf("other bytes came back: %w", err)
		}
	}
	return c.Close()
}

// answer sends back, a packet at a time, what comes on c.
func answer(c net.Conn, packet int) error {
	b := make([]byte, packet)
	for {
		if _, err := io.ReadFull(c, b); err != nil {
			_ = c.Close()
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if _, err := c.Write(b); err != nil {
			return err
		}
	}
}

// Package crypto/tls runs on engines as it is.
func TestTLS(t *testing.T) {
	forServer, forClient := certificate()
	data := bytes.Repeat([]byte("secret"), 5000)
	eachEngines(t, func(t *testing.T, engines *uring.Engines) {
		l := listen(t, engines, "tcp")
		ended := make(chan error, 8)
		for range cap(ended) / 2 {
			client, server, err := connect(engines, l)
			require.NoError(t, err)
			go func() { ended <- speak(tls.Client(client, forClient), data) }()
			go func() { ended <- answer(tls.Server(server, forServer), len(data)) }()
		}
		for range cap(ended) {
			require.NoError(t, <-ended)
		}
		require.NoError(t, l.Close())
	})
}

// On fibers, each connection with TLS is one fiber's: then many share a worker.
func TestFibersTLS(t *testing.T) {
	forServer, forClient := certificate()
	data := bytes.Repeat([]byte("secret"), 500)
	eachAttached(t, func(t *testing.T, s *sched.Scheduler, engines *uring.Engines) {
		l := listen(t, engines, "tcp")
		var fs []func() error
		for range 3 {
			client, server := pair(t, s, engines, l)
			fs = append(
				fs, func() error { return speak(tls.Client(client, forClient), data) },
				func() error { return answer(tls.Server(server, forServer), len(data)) },
			)
		}
		require.NoError(t, onFibers(t, s, fs...))
		require.NoError(t, l.Close())
	})
}

// Bytes are copied from memory to a connection, from one connection to another, and by WriteTo to memory.
func TestCopies(t *testing.T) {
	eachNetwork(t, func(t *testing.T, s *sched.Scheduler, engines *uring.Engines, l *fiberio.Listener) {
		from, to := pair(t, s, engines, l)
		back, last := pair(t, s, engines, l)
		data := bytes.Repeat([]byte("0123456789abcdef"), suite.Scaled(20_000, 5_000))
		var got bytes.Buffer
		require.NoError(t, onFibers(t, s, func() error {
			n, err := io.Copy(from, io.LimitReader(bytes.NewReader(data), int64(len(data))))
			if n != int64(len(data)) {
				return fmt.Errorf("to a connection: %d bytes: %w", n, err)
			}
			return errors.Join(err, from.CloseWrite())
		}, func() error {
			n, err := io.Copy(back, to)
			if n != int64(len(data)) {
				return fmt.Errorf("from one to the other: %d bytes: %w", n, err)
			}
			return errors.Join(err, back.CloseWrite())
		}, func() error {
			n, err := last.WriteTo(&got)
			if n != int64(len(data)) {
				return fmt.Errorf("WriteTo: %d bytes: %w", n, err)
			}
			return err
		}))
		require.True(t, bytes.Equal(data, got.Bytes()))
	})
}
