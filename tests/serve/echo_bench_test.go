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

// rivals are the servers that benchmarks compare, by a name that says what they run on. Where the kernel lacks io_uring, those that need it are not among them.
func rivals(program string) map[string]order {
	list := map[string]order{"driver=go": {Program: program, Driver: "go"}}
	if program == "echo" && bareecho.Supported() {
		list["driver=bare"] = order{Program: program, Driver: bare}
	}
	for _, d := range uring.Drivers() {
		if d == uring.Uring && uring.Probe().Reason != nil {
			continue
		}
		for _, b := range []fiber.Backend{fiber.Asm, fiber.Goroutine} {
			list[fmt.Sprintf("driver=%v-%v", d, b)] = order{Program: program, Driver: d.String(), Scheduler: config{Workers: 2, Backend: b, Policy: sched.Stealing}}
		}
	}
	return list
}

// rivalNames are the keys that rivals may have, in the order in which they take turns.
var rivalNames = []string{"driver=go", "driver=bare", "driver=uring-asm", "driver=uring-goroutine", "driver=epoll-asm", "driver=epoll-goroutine"}

// Each server of the benchmarks sends back what comes, and counts it.
func TestRivals(t *testing.T) {
	for name, o := range rivals("echo") {
		t.Run(name, func(t *testing.T) {
			p := startProcess(t, o)
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

// BenchmarkEcho has redis-benchmark send PINGs to an echo server in a process of its own, a request at a time on each connection. req/s and p99-ms are what the client
// sees, cpu-us/req is the server's processor time a request, and enters/req the system calls of its engines.
func BenchmarkEcho(b *testing.B) {
	for _, at := range []struct{ conns, requests int }{{1, 20_000}, {50, 100_000}, {1000, 100_000}} {
		for _, name := range rivalNames {
			o, ok := rivals("echo")[name]
			if !ok {
				continue
			}
			b.Run(fmt.Sprintf("conns=%d/%s", at.conns, name), func(b *testing.B) {
				for range b.N {
					benchmarkEcho(b, o, at.conns, at.requests)
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
