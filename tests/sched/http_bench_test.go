package sched_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

const (
	httpClients = 200
	httpWork    = 16 << 10 // bytes that each request has hashed
)

// BenchmarkHTTP is a net/http server whose handlers each hand their work to a task and wait for it. The work is to hash
// 16 KB. 200 clients, which are goroutines of another process, send the next request on the same connection as soon as
// they have the answer. An op is a request. The rival's handlers start a goroutine each instead of the task.
func BenchmarkHTTP(b *testing.B) {
	schedtest.BenchOn(b, []int{2}, func(b *testing.B, s *sched.Scheduler) {
		measureHTTP(b, func(task func()) { schedtest.Enqueue(b, s, task) })
	})
	b.Run(schedtest.Goroutines, func(b *testing.B) {
		measureHTTP(b, func(task func()) { go task() })
	})
}

// measureHTTP serves b.N requests, and more to begin with, and reports what the clients saw.
func measureHTTP(b *testing.B, start func(task func())) {
	page := make([]byte, httpWork)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var sum [sha256.Size]byte
		done := make(chan struct{})
		start(func() {
			sum = sha256.Sum256(page)
			close(done)
		})
		<-done
		_, _ = w.Write(sum[:])
	})}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		require.NoError(b, server.Close())
		require.ErrorIs(b, <-served, http.ErrServerClosed)
	}()

	requests := max(b.N, 10*httpClients)
	ctx, cancel := context.WithTimeout(context.Background(), child.Limit)
	defer cancel()
	cmd := child.Prepare(ctx, httpLoad, suite.HandSwitched[0],
		envAddress+"="+listener.Addr().String(), envRequests+"="+strconv.Itoa(requests))
	cmd.Stderr = os.Stderr
	output, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	var answer httpAnswer
	readErr := json.NewDecoder(output).Decode(&answer)
	_, _ = io.Copy(io.Discard, output)
	require.NoError(b, cmd.Wait())
	require.NoError(b, readErr)
	reportQuantiles(b, answer.Latencies)
	b.ReportMetric(float64(requests)/answer.Elapsed.Seconds(), "requests/s")
}

// What the clients are told, and what they answer.
const (
	envAddress  = "FIBERLAB_HTTP_ADDRESS"
	envRequests = "FIBERLAB_HTTP_REQUESTS"
)

type httpAnswer struct {
	Elapsed   time.Duration
	Latencies []time.Duration
}

// httpLoad is the process of the clients.
var httpLoad = child.New("http-load", func(t child.T, _ fiber.Backend) {
	requests, err := strconv.Atoi(os.Getenv(envRequests))
	require.NoError(t, err)
	_, err = load(os.Getenv(envAddress), 5*httpClients) // to begin with: connections, goroutines, fibers
	require.NoError(t, err)
	began := time.Now()
	latencies, err := load(os.Getenv(envAddress), requests)
	require.NoError(t, err)
	answer, err := json.Marshal(httpAnswer{time.Since(began), latencies})
	require.NoError(t, err)
	fmt.Println(string(answer))
})

// load has as many requests answered, and returns how long each took.
func load(address string, requests int) ([]time.Duration, error) {
	var left atomic.Int64
	left.Store(int64(requests))
	latencies := make([][]time.Duration, httpClients)
	errs := make([]error, httpClients)
	var clients sync.WaitGroup
	for i := range httpClients {
		clients.Add(1)
		go func() {
			defer clients.Done()
			latencies[i], errs[i] = ask(address, &left)
		}()
	}
	clients.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return slices.Concat(latencies...), nil
}

// ask is one client: it asks while requests are left.
func ask(address string, left *atomic.Int64) ([]time.Duration, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	var latencies []time.Duration
	answers := bufio.NewReader(conn)
	for left.Add(-1) >= 0 {
		began := time.Now()
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			return nil, err
		}
		response, err := http.ReadResponse(answers, nil)
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			return nil, err
		}
		if response.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("answered %s", response.Status)
		}
		latencies = append(latencies, time.Since(began))
	}
	return latencies, nil
}
