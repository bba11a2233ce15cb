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
)

// rivals are the servers that benchmarks compare, by a name that says what they run on.
func rivals(program string) map[string]order {
	list := map[string]order{"driver=go": {Program: program, Driver: "go"}}
	for _, d := range uring.Drivers() {
		for _, b := range []fiber.Backend{fiber.Asm, fiber.Goroutine} {
			list[fmt.Sprintf("driver=%v-%v", d, b)] = order{Program: program, Driver: d.String(), Scheduler: config{Workers: 2, Backend: b, Policy: sched.Stealing}}
		}
	}
	return list
}

// rivalNames are the keys of rivals, in the order in which they take turns.
var rivalNames = []string{"driver=go", "driver=uring-asm", "driver=uring-goroutine", "driver=epoll-asm", "driver=epoll-goroutine"}

// BenchmarkEcho has redis-benchmark send PINGs to an echo server in a process of its own, a request at a time on each connection. req/s and p99-ms are what the client
// sees, cpu-us/req is the server's processor time a request, and enters/req the system calls of its engines.
func BenchmarkEcho(b *testing.B) {
	for _, at := range []struct{ conns, requests int }{{1, 20_000}, {50, 100_000}, {1000, 100_000}} {
		for _, name := range rivalNames {
			b.Run(fmt.Sprintf("conns=%d/%s", at.conns, name), func(b *testing.B) {
				for range b.N {
					benchmarkEcho(b, rivals("echo")[name], at.conns, at.requests)
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
