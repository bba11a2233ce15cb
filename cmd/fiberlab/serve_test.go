package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/sched/uring"
)

// serving is a server that runs as a process.
type serving struct {
	*exec.Cmd
	t       *testing.T
	address string
	stdout  bytes.Buffer
	lines   *bufio.Scanner // of stderr
}

var listening = regexp.MustCompile(`^fiberlab: listening on (\S+), by driver (\S+) \(.+\)$`)

// serveProcess starts a server, which is killed at the end of the test if it is there still.
func serveProcess(t *testing.T, args ...string) *serving {
	t.Helper()
	return startServing(t, command(append([]string{"serve"}, args...)...))
}

// startServing is serveProcess for that command.
func startServing(t *testing.T, c *exec.Cmd) *serving {
	t.Helper()
	s := &serving{Cmd: c, t: t}
	s.Stdout = &s.stdout
	stderr, err := s.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, s.Start())
	t.Cleanup(func() { _ = s.Process.Kill() })
	s.lines = bufio.NewScanner(stderr)
	line := s.line()
	require.Regexp(t, listening, line)
	s.address = listening.FindStringSubmatch(line)[1]
	return s
}

// line is the next line of stderr.
func (s *serving) line() string {
	s.t.Helper()
	require.True(s.t, s.lines.Scan(), "no further line on stderr")
	return s.lines.Text()
}

// end waits for the end of the process, and returns what it left behind.
func (s *serving) end() outcome {
	var rest string
	for s.lines.Scan() {
		rest += s.lines.Text() + "\n"
	}
	_ = s.Wait()
	return outcome{s.ProcessState.ExitCode(), s.stdout.String(), rest}
}

func (s *serving) signal(sig syscall.Signal) {
	require.NoError(s.t, s.Process.Signal(sig))
}

// echoes sends a text and checks that it comes back.
func echoes(t *testing.T, c net.Conn, text string) {
	t.Helper()
	_, err := io.WriteString(c, text)
	require.NoError(t, err)
	got := make([]byte, len(text))
	_, err = io.ReadFull(c, got)
	require.NoError(t, err)
	require.Equal(t, text, string(got))
}

func connect(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
	return c
}

// Each signal stops a server. It closes its side, waits until the client has, and then says what it has done.
func TestServeUntilASignal(t *testing.T) {
	for _, driver := range driversHere(t) {
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			s := serveProcess(t, "echo", "--driver", driver, "--addr", "127.0.0.1:0", "--grace", "1m", "--json")
			c := connect(t, s.address)
			echoes(t, c, "hello")
			echoes(t, c, "again")
			s.signal(sig)
			require.Regexp(
				t, "^fiberlab: stopping: 1 connection to be finished within 1m0s; another signal ends it at once$",
				s.line(),
			)
			_, err := c.Read(make([]byte, 1))
			require.ErrorIs(t, err, io.EOF)
			require.NoError(t, c.Close())
			got := s.end()
			require.Zero(t, got.code, got.stderr)
			require.Empty(t, got.stderr)
			f := decode(t, got.stdout).Served
			require.Equal(t, []any{"echo", s.address, driver}, []any{f.Program, f.Address, f.Driver})
			require.Equal(t, []int64{1, 2, 10, 10}, []int64{f.Connections, f.Requests, f.BytesIn, f.BytesOut})
			require.Positive(t, f.ServiceP50)
			require.GreaterOrEqual(t, f.ServiceP99, f.ServiceP50)
			require.Positive(t, f.UserPerRequest+f.SystemPerRequest)
		}
	}
}

// A second signal does not wait for a client.
func TestSecondSignalEndsAServer(t *testing.T) {
	for _, driver := range driversHere(t) {
		s := serveProcess(t, "echo", "--driver", driver, "--addr", "127.0.0.1:0", "--grace", "1h")
		echoes(t, connect(t, s.address), "hello")
		s.signal(syscall.SIGINT)
		require.Contains(t, s.line(), "1 connection to be finished within 1h0m0s")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.end()
		}()
		for over := false; !over; { // until the process has the default action of signals again, one does nothing
			_ = s.Process.Signal(syscall.SIGINT)
			select {
			case <-ended:
				over = true
			case <-time.After(10 * time.Millisecond):
			}
		}
		require.Equal(t, syscall.SIGINT, s.ProcessState.Sys().(syscall.WaitStatus).Signal())
	}
}

// A connection that had to be cut is a failure, and the figures are printed nevertheless.
func TestServeCutsOff(t *testing.T) {
	s := serveProcess(t, "http", "--driver", "go", "--addr", "127.0.0.1:0", "--grace", "1ms", "--json")
	c := connect(t, s.address)
	_, err := fmt.Fprintf(c, "GET /bytes/1000000000 HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	_, err = io.ReadFull(c, make([]byte, 1000))
	require.NoError(t, err)
	s.signal(syscall.SIGTERM)
	s.line()
	got := s.end()
	require.Equal(t, exitFailed, got.code)
	require.Equal(
		t,
		"fiberlab: a connection was cut before all was finished, 1ms after the order to stop: allow more time by a "+
			"longer --grace\n",
		got.stderr,
	)
	require.Equal(t, 1, decode(t, got.stdout).Served.Cut)
}

// Connections of clients that send nothing are closed, and counted.
func TestServeClosesIdleConnections(t *testing.T) {
	for _, program := range []string{"echo", "http"} {
		s := serveProcess(t, program, "--addr", "127.0.0.1:0", "--idle-timeout", "50ms")
		_, err := io.ReadAll(connect(t, s.address))
		require.NoError(t, err)
		s.signal(syscall.SIGTERM)
		got := s.end()
		require.Zero(t, got.code, got.stderr)
		require.Contains(t, got.stdout, "closed because no byte moved: 1 connection\n")
	}
	for _, name := range []string{"--grace", "--idle-timeout", "--header-timeout"} {
		got := run(t, "serve", "http", name, "-1s")
		require.Equal(t, exitUsage, got.code)
		require.Equal(t, "fiberlab: "+name+" -1s: give a time from 0 up, such as 500ms or 10s\n", got.stderr)
	}
}

func TestServeAsText(t *testing.T) {
	for _, driver := range driversHere(t) {
		s := serveProcess(t, "files", smallTree(t), "--driver", driver, "--addr", "127.0.0.1:0")
		r, err := http.Get("http://" + s.address + "/a")
		require.NoError(t, err)
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.NoError(t, r.Body.Close())
		require.Equal(t, "one two two\n", string(body))
		http.DefaultClient.CloseIdleConnections()
		s.signal(syscall.SIGTERM)
		got := s.end()
		require.Zero(t, got.code, got.stderr)
		require.Contains(t, got.stdout, "files on "+s.address+", by driver "+driver+", for ")
		require.Regexp(t, `(?m)^1 +1 +\d+ +\d+ +0 +0$`, got.stdout)
		require.Regexp(t, `(?m)^a request( +[\d.,]+){4}$`, got.stdout)
	}
}

func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	for _, driver := range driversHere(t) {
		got := run(t, "serve", "echo", "--driver", driver, "--addr", l.Addr().String())
		require.Equal(t, exitUsage, got.code)
		requireOneLine(t, got.stderr)
		require.Contains(
			t, got.stderr,
			`cannot serve on "`+l.Addr().
				String()+
				`": address already in use: choose another port, or 0 for any free one`,
		)
	}
}

// driversHere are the drivers of servers that this machine has.
func driversHere(t *testing.T) []string {
	drivers := []string{goDriver, uring.Epoll.String()}
	if why := uring.Probe().Reason; why != nil {
		t.Log("driver uring is not tested: ", why)
		return drivers
	}
	return append(drivers, uring.Uring.String())
}
