// Package soak_test runs everything at once for as long as one likes. Schedulers of all policies are made and closed.
// On them fibers and goroutines use all primitives, fork, make blocking calls, and talk by engines. The runtime traces
// and takes profiles, signals come, and the collector is busy. Nothing may be lost, and nothing may stand still.
//
// TestSoak runs it for some seconds, `make soak DURATION=30m` for longer. The run is a child of the test, which sees it
// stand still even if the Go runtime does.
package soak_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

func TestMain(m *testing.M) { suite.Main(m) }

var duration = flag.Duration("duration", 0, "how long TestSoak runs; 0: some seconds")

// envRun tells the child how long it runs, and its seed.
const envRun = "FIBERLAB_SOAK"

var childSoaks = child.New("soaks", func(t child.T, _ fiber.Backend) {
	var d time.Duration
	var seed uint64
	text, number, _ := strings.Cut(os.Getenv(envRun), " ")
	d, err := time.ParseDuration(text)
	require.NoError(t, err)
	_, err = fmt.Sscan(number, &seed)
	require.NoError(t, err)
	run(d, seed)
})

// Everything goes on at once, and the child says every now and then how far it is. If it says nothing for long, the
// whole process stands still.
func TestSoak(t *testing.T) {
	d := *duration
	if d == 0 {
		d = time.Duration(suite.Scaled(int(10*time.Second), int(4*time.Second)))
	}
	t.Logf("for %v; %s", d, suite.Repeat())
	cmd := child.Prepare(
		context.Background(), childSoaks, fiber.Default, fmt.Sprintf("%s=%v %d", envRun, d, suite.Seed()),
	)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = cmd.Stdout
	require.NoError(t, cmd.Start())
	said := make(chan string)
	go func() {
		defer close(said)
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				said <- line
			}
			if err != nil {
				return
			}
		}
	}()
	var all strings.Builder
	show := io.Writer(&all)
	if testing.Verbose() {
		show = os.Stdout
	}
	last := ""
	for quiet := 0; said != nil; {
		select {
		case line, ok := <-said:
			if !ok {
				said = nil
				break
			}
			quiet = 0
			_, _ = io.WriteString(show, line)
			last = line
		case <-time.After(schedtest.Standstill):
			switch quiet++; quiet {
			case 2:
				fmt.Fprintf(
					show, "it has said nothing for %v: the whole process stands still\n", 2*schedtest.Standstill,
				)
				_ = cmd.Process.Signal(syscall.SIGQUIT)
			case 3:
				_ = cmd.Process.Kill()
			}
		}
	}
	err = cmd.Wait()
	require.NoError(t, err, "%s\n%s", all.String(), suite.Repeat())
	require.Equal(t, "ok\n", last, all.String())
}
