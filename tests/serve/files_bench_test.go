package serve_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkServeFiles has wrk fetch a file of 1 KB from a file server in a child process, a request at a time on each
// connection. req/s is what the client sees, cpu-us/req the server's processor time a request.
func BenchmarkServeFiles(b *testing.B) {
	dir := b.TempDir()
	require.NoError(b, os.WriteFile(filepath.Join(dir, "1K"), make([]byte, 1<<10), 0o600))
	for _, conns := range []int{50, 1000} {
		for _, of := range rivals() {
			if of.Driver == bare {
				continue
			}
			of.Program, of.Dir = "files", dir
			b.Run(fmt.Sprintf("conns=%d/%s", conns, of.name), func(b *testing.B) {
				for range b.N {
					benchmarkServeFiles(b, of.order, conns)
				}
				b.ReportMetric(0, "ns/op") // how long the client runs says nothing
			})
		}
	}
}

func benchmarkServeFiles(b *testing.B, o order, conns int) {
	const seconds = 1
	p := startProcess(b, o)
	said, err := program(b, "wrk", "-t", "1", "-c", fmt.Sprint(conns), "-d", fmt.Sprint(seconds),
		"http://"+p.address+"/1K").Output()
	require.NoError(b, err)
	f := p.end(b)
	count := answered.FindStringSubmatch(string(said))
	require.NotNil(b, count, "%s", said)
	answers, err := strconv.ParseFloat(count[1], 64)
	require.NoError(b, err)
	b.ReportMetric(answers/seconds, "req/s")
	b.ReportMetric(f.UserPerRequest+f.SystemPerRequest, "cpu-us/req")
}
