package serve_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/cmd/fiberlab/serve"
	"fiberlab/tests/internal/suite"
)

// program returns a command of this machine, by which people talk to servers. scripts/need clients installs the
// programs that are used here.
func program(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		const remedy = "%v: scripts/need clients installs it"
		if os.Getenv("CI") != "" {
			require.Fail(t, fmt.Sprintf(remedy, err))
		}
		t.Skipf(remedy, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, path, args...)
	c.Env = append(os.Environ(), "LC_ALL=C", "no_proxy=*")
	return c
}

// output runs a command, which must succeed, and returns what it writes.
func output(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	var said, complained bytes.Buffer
	c.Stdout, c.Stderr = &said, &complained
	require.NoError(t, c.Run(), "%s: %s%s", c, said.String(), complained.String())
	return said.String()
}

// The answer to a PING is what redis-benchmark takes for one: an array of a string. It counts the answers.
func TestRedisBenchmark(t *testing.T) {
	someSetups(t, func(t *testing.T, o serve.Setup) {
		s := start(t, serve.Echo(), o)
		host, port, err := net.SplitHostPort(s.Address)
		require.NoError(t, err)
		requests := suite.Scaled(5000, 1000)
		for _, at := range [][2]int{{1, 1}, {50, 1}, {50, 16}} {
			said := output(t, program(t, "redis-benchmark", "-h", host, "-p", port, "-t", "ping_mbulk", "-q",
				"-n", fmt.Sprint(requests), "-c", fmt.Sprint(at[0]), "-P", fmt.Sprint(at[1])))
			require.Regexp(t, `PING_MBULK: [\d.]+ requests per second`, said)
		}
		f := s.end()
		const ping = len("*1\r\n$4\r\nPING\r\n")
		require.GreaterOrEqual(t, f.BytesIn, int64(3*requests*ping))
		require.Equal(t, f.BytesIn, f.BytesOut)
		require.GreaterOrEqual(t, f.Connections, int64(101))
	})
}

// answered finds how many answers wrk has counted.
var answered = regexp.MustCompile(`(\d+) requests in `)

// wrk counts answers that are no success, and connections that fail.
func TestWrk(t *testing.T) {
	oneSetup(t, func(t *testing.T, o serve.Setup) {
		s := start(t, serve.HTTP(), o)
		var answers int64
		for seconds := 1; answers == 0; seconds *= 4 {
			said := output(
				t,
				program(
					t, "wrk", "-t", "1", "-c", "50", "-d", fmt.Sprint(seconds), "--timeout", "60s",
					"http://"+s.Address+"/bytes/1000",
				),
			)
			require.NotContains(t, said, "Non-2xx")
			require.NotContains(t, said, "Socket errors")
			count := answered.FindStringSubmatch(said)
			require.NotNil(t, count, said)
			var err error
			answers, err = strconv.ParseInt(count[1], 10, 64)
			require.NoError(t, err, said)
		}
		require.GreaterOrEqual(t, s.end().Requests, answers)
	})
}

// curl fetches files, and sends them.
func TestCurl(t *testing.T) {
	eachSetup(t, func(t *testing.T, o serve.Setup) {
		dir, sums := tree(t)
		s := start(t, serve.Files(dir), o)
		args := []string{"--silent", "--show-error", "--fail"}
		var urls []string
		into := t.TempDir()
		for path := range sums {
			urls = append(
				urls, "--output", filepath.Join(into, filepath.Base(path)),
				"http://"+s.Address+"/"+strings.ReplaceAll(path, " ", "%20"),
			)
		}
		output(t, program(t, "curl", append(args, urls...)...)) // all by one connection
		for path, sum := range sums {
			got, err := os.ReadFile(filepath.Join(into, filepath.Base(path)))
			require.NoError(t, err)
			require.Equal(t, sum, sha256.Sum256(got), path)
		}
		require.EqualValues(t, 1, s.end().Connections)

		s = start(t, serve.HTTP(), o)
		large, err := os.ReadFile(filepath.Join(dir, "below/large"))
		require.NoError(t, err)
		got := output(
			t,
			program(
				t, "curl",
				append(args, "--data-binary", "@"+filepath.Join(dir, "below/large"), "http://"+s.Address+"/echo")...),
		)
		require.Equal(t, sha256.Sum256(large), sha256.Sum256([]byte(got)))
		s.end()
	})
}

// nc -N closes its side at the end of its input.
func TestNetcat(t *testing.T) {
	eachSetup(t, func(t *testing.T, o serve.Setup) {
		s := start(t, serve.Echo(), o)
		host, port, err := net.SplitHostPort(s.Address)
		require.NoError(t, err)
		seed := suite.NewRand(t).Uint64()
		const n = 1 << 20
		c := program(t, "nc", "-N", host, port)
		c.Stdin = io.LimitReader(stream(seed), n)
		require.NoError(t, returns(strings.NewReader(output(t, c)), seed, n))
		require.EqualValues(t, n, s.end().BytesOut)
	})
}

// openssl speaks TLS, and is killed in the end.
func TestOpenSSL(t *testing.T) {
	eachSetup(t, func(t *testing.T, o serve.Setup) {
		o.TLS = true
		s := start(t, serve.Echo(), o)
		c := program(t, "openssl", "s_client", "-quiet", "-connect", s.Address)
		seed := suite.NewRand(t).Uint64()
		const n = 100_000
		in, err := c.StdinPipe()
		require.NoError(t, err)
		out, err := c.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, c.Start())
		go func() { _, _ = io.CopyN(in, stream(seed), n) }()
		require.NoError(t, returns(io.LimitReader(out, n), seed, n))
		require.NoError(t, c.Process.Kill())
		_ = c.Wait()
		require.EqualValues(t, n, s.end().BytesOut)
	})
}

// A client that is killed in mid-transfer costs the server that connection and nothing else.
func TestKilledClient(t *testing.T) {
	eachSetup(t, func(t *testing.T, o serve.Setup) {
		s := start(t, serve.HTTP(), o)
		for range 3 {
			c := program(t, "curl", "--silent", "http://"+s.Address+"/bytes/1000000000")
			out, err := c.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, c.Start())
			_, err = io.ReadFull(out, make([]byte, 100_000))
			require.NoError(t, err)
			require.NoError(t, c.Process.Kill())
			_ = c.Wait()
		}
		require.Equal(
			t, "fiberlab serves /, /bytes/N and /echo\n",
			output(t, program(t, "curl", "--silent", "http://"+s.Address+"/")),
		)
		f := s.end()
		require.EqualValues(t, 4, f.Connections)
		require.Zero(t, f.Cut)
	})
}
