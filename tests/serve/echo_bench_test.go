package serve_test

import (
	"encoding/csv"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/uring"
	"fiberlab/tests/internal/bareecho"
)

// rival is a server that benchmarks compare with others. Its name says what it runs on.
type rival struct {
	name string
	order
}

// rivals are the echo servers, in the order in which they take turns. Where the kernel lacks io_uring, servers that
// need it are not among them.
func rivals() []rival {
	list := []rival{{"driver=go", order{Program: "echo", Driver: "go"}}}
	if bareecho.Supported() {
		list = append(list, rival{"driver=bare", order{Program: "echo", Driver: bare}})
	}
	for _, d := range uring.Drivers() {
		if d == uring.Uring && uring.Probe().Reason != nil {
			continue
		}
		for _, b := range []fiber.Backend{fiber.Asm, fiber.Goroutine} {
			list = append(list, rival{fmt.Sprintf("driver=%v-%v", d, b),
				order{
					Program: "echo", Driver: d.String(),
					Scheduler: config{Workers: 2, Backend: b, Policy: sched.Stealing},
				}})
		}
	}
	return list
}

// Each server of the benchmarks sends back what comes, and counts it.
func TestRivals(t *testing.T) {
	for _, of := range rivals() {
		t.Run(of.name, func(t *testing.T) {
			p := startProcess(t, of.order)
			const conns, requests = 3, 10
			for i := range conns {
				c := dial(t, p.address)
				for j := range requests {
					require.NoError(t, exchange(c, fmt.Append(nil, "request ", j, " of client ", i)))
				}
				require.NoError(t, c.Close())
			}
			f := p.end(t)
			require.Equal(t, []int64{conns, conns * requests}, []int64{f.Connections, f.Requests})
			require.Positive(t, f.UserPerRequest+f.SystemPerRequest)
		})
	}
}

// BenchmarkEcho has redis-benchmark send PINGs to an echo server in a child process, a request at a time on each
// connection. req/s and p99-ms are what the client sees, cpu-us/req is the server's processor time a request, and
// enters/req the system calls of its engines.
func BenchmarkEcho(b *testing.B) {
	for _, at := range []struct{ conns, requests int }{{1, 20_000}, {50, 100_000}, {1000, 100_000}} {
		for _, of := range rivals() {
			b.Run(fmt.Sprintf("conns=%d/%s", at.conns, of.name), func(b *testing.B) {
				for range b.N {
					benchmarkEcho(b, of.order, at.conns, at.requests)
				}
				b.ReportMetric(0, "ns/op") // how long the client runs says nothing
			})
		}
	}
}

func benchmarkEcho(b *testing.B, o order, conns, requests int) {
	p := startProcess(b, o)
	host, port, err := net.SplitHostPort(p.address)
	require.NoError(b, err)
	said, err := program(b, "redis-benchmark", "-h", host, "-p", port, "-t", "ping_mbulk", "--csv",
		"-n", fmt.Sprint(requests), "-c", fmt.Sprint(conns)).Output()
	require.NoError(b, err)
	f := p.end(b)
	rows, err := csv.NewReader(strings.NewReader(string(said))).ReadAll()
	require.NoError(b, err)
	require.Len(b, rows, 2)
	for i, unit := range map[int]string{1: "req/s", 6: "p99-ms"} {
		value, err := strconv.ParseFloat(rows[1][i], 64)
		require.NoError(b, err)
		b.ReportMetric(value, unit)
	}
	b.ReportMetric(f.UserPerRequest+f.SystemPerRequest, "cpu-us/req")
	if f.Engines != nil {
		b.ReportMetric(f.Engines.EntersPerRequest, "enters/req")
	}
}
