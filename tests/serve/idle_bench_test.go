package serve_test

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// BenchmarkIdleConns opens connections to an echo server in a child process, has each of them used once, and lets them
// rest. B/conn is how much the server's resident memory has grown for each of them, heap-B/conn what of that Go's
// collector manages, and stack-B/conn the stacks of goroutines.
func BenchmarkIdleConns(b *testing.B) {
	var limit unix.Rlimit
	require.NoError(b, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	conns := min(10_000, int(limit.Cur)-500)
	for _, of := range rivals() {
		b.Run(fmt.Sprintf("conns=%d/%s", conns, of.name), func(b *testing.B) {
			for range b.N {
				p := startProcess(b, of.order)
				before := p.memory(b)
				list := make([]net.Conn, conns)
				for i := range list {
					c, err := connect(p.address)
					require.NoError(b, err)
					require.NoError(b, exchange(c, fmt.Append(nil, "I am number ", i)))
					list[i] = c
				}
				after := p.memory(b)
				for _, c := range list {
					require.NoError(b, c.Close())
				}
				require.EqualValues(b, conns, p.end(b).Connections)
				b.ReportMetric(float64(after.resident-before.resident)/float64(conns), "B/conn")
				b.ReportMetric(float64(after.heap-before.heap)/float64(conns), "heap-B/conn")
				b.ReportMetric(float64(after.stacks-before.stacks)/float64(conns), "stack-B/conn")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// memory is what a process holds, in bytes.
type memory struct{ resident, heap, stacks int }

// memory is what the server holds after a collection.
func (p *process) memory(t testing.TB) (m memory) {
	t.Helper()
	require.NoError(t, p.Process.Signal(syscall.SIGUSR1))
	line := p.line(t, "what it holds")
	_, err := fmt.Sscan(line, &m.heap, &m.stacks)
	require.NoError(t, err, line)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
	require.NoError(t, err)
	_, text, found := strings.Cut(string(status), "VmRSS:")
	require.True(t, found)
	_, err = fmt.Sscan(text, &m.resident)
	require.NoError(t, err)
	m.resident <<= 10
	return m
}
