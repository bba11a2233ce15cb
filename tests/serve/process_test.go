package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/cmd/fiberlab/serve"
	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/uring"
	"fiberlab/tests/internal/bareecho"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/suite"
)

// order is what a server in a child process is told.
type order struct {
	Program     string // echo, http, files, or one of streamServers
	Dir         string // of files
	TLS         bool
	Size        int    // of the pieces that streamServers receive
	Driver      string // go, bare, or what uring.ParseDriver takes
	Scheduler   config // drivers but go
	Requests    int    // of uring.Options
	Descriptors uint64 // RLIMIT_NOFILE; 0 leaves it as it is
	NoLocking   bool   // an RLIMIT_MEMLOCK of 0, and no privileges
}

// config is what can be told of a sched.Config.
type config struct {
	Workers int
	Backend fiber.Backend
	Policy  sched.Policy
}

// envOrder names the environment variable that holds the order.
const envOrder = "FIBERLAB_SERVE_ORDER"

func (o order) program() serve.Program {
	switch o.Program {
	case "http":
		return serve.HTTP()
	case "files":
		return serve.Files(o.Dir)
	}
	return serve.Echo()
}

// exhausted is what the line begins with by which a server says, once, that it cannot accept a client.
const exhausted = "exhausted:"

// It says where it listens in its first line, and what it has done in its last one. SIGUSR1 has it collect garbage, and
// say what it holds.
var childServer = child.New("server", func(t child.T, _ fiber.Backend) {
	var o order
	require.NoError(t, json.Unmarshal([]byte(os.Getenv(envOrder)), &o))
	if o.Descriptors > 0 {
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: o.Descriptors, Max: o.Descriptors}))
	}
	if o.NoLocking {
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{}))
		if os.Getuid() == 0 { // whom the limit does not bind
			const nobody = 65534
			require.NoError(t, syscall.Setuid(nobody))
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go func() {
		for range asked {
			var m runtime.MemStats
			debug.FreeOSMemory()
			runtime.ReadMemStats(&m)
			fmt.Println(m.HeapInuse, m.StackInuse)
		}
	}()
	go func() { // nothing is left of it when the test program has died
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	run := o.run
	switch {
	case o.Driver == bare:
		run = runBare
	case streamServers[o.Program] != nil:
		run = o.runStreams
	}
	figures, err := run(ctx)
	require.NoError(t, err)
	text, err := json.Marshal(figures)
	require.NoError(t, err)
	fmt.Println(string(text))
})

// bare is the driver of an echo server in C, which has no other part of a server.
const bare = "bare"

func runBare(ctx context.Context) (*serve.Figures, error) {
	var before, after unix.Rusage
	var first error
	f, err := bareecho.Serve(ctx, func(address string) {
		first = unix.Getrusage(unix.RUSAGE_SELF, &before)
		fmt.Println(address, bare)
	})
	err = errors.Join(err, first, unix.Getrusage(unix.RUSAGE_SELF, &after))
	n := max(float64(f.Requests), 1)
	each := func(now, then unix.Timeval) float64 { return float64(now.Nano()-then.Nano()) / 1000 / n }
	return &serve.Figures{
		Connections: f.Connections, Requests: f.Requests,
		UserPerRequest: each(after.Utime, before.Utime), SystemPerRequest: each(after.Stime, before.Stime),
		Engines: &serve.EngineFigures{Enters: f.Enters, EntersPerRequest: float64(f.Enters) / n},
	}, err
}

func (o order) run(ctx context.Context) (*serve.Figures, error) {
	setup := o.setup()
	setup.Grace = timeout / 2
	setup.Idle = -1 // connections of benchmarks rest
	setup.TLS = o.TLS
	setup.Listening = func(at serve.At) { fmt.Println(at.Address, at.Driver) }
	var once sync.Once
	setup.Exhausted = func(err error) { once.Do(func() { fmt.Println(exhausted, err) }) }
	return serve.Run(ctx, o.program(), setup)
}

// setup is what the server runs on.
func (o order) setup() serve.Setup {
	if o.Driver == "go" {
		return serve.Setup{}
	}
	d, err := uring.ParseDriver(o.Driver)
	if err != nil {
		panic(err)
	}
	return serve.Setup{
		Engines:   &uring.Options{Driver: d, Requests: o.Requests},
		Scheduler: sched.Config{Workers: o.Scheduler.Workers, Backend: o.Scheduler.Backend, Policy: o.Scheduler.Policy},
	}
}

// orderOf is the order for a server that runs on o.
func orderOf(program string, o serve.Setup) order {
	if o.Engines == nil {
		return order{Program: program, Driver: "go"}
	}
	cfg := o.Scheduler
	return order{Program: program, Driver: o.Engines.Driver.String(), Requests: o.Engines.Requests,
		Scheduler: config{cfg.Workers, cfg.Backend, cfg.Policy}}
}

// process is a server in a child process.
type process struct {
	*exec.Cmd
	address string
	driver  string   // that was chosen
	out     *os.File // what it prints
	lines   *bufio.Reader
}

// startProcess starts a server, which is killed at the end of the test if it is there still.
func startProcess(t testing.TB, o order) *process {
	t.Helper()
	text, err := json.Marshal(o)
	require.NoError(t, err)
	p := &process{Cmd: child.Prepare(context.Background(), childServer, suite.HandSwitched[0], envOrder+"="+string(text))}
	p.Stderr = os.Stderr
	_, err = p.StdinPipe() // closed by p.Wait
	require.NoError(t, err)
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	p.out = out.(*os.File)
	p.lines = bufio.NewReader(out)
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_, _ = io.Copy(io.Discard, p.lines)
		_ = p.Wait()
	})
	const what = "where it listens"
	line := p.line(t, what)
	if _, err = fmt.Sscan(line, &p.address, &p.driver); err != nil || !strings.Contains(p.address, ":") {
		p.fails(t, what, line)
	}
	return p
}

// line returns the next line that the server prints, which should say what.
func (p *process) line(t testing.TB, what string) string {
	t.Helper()
	require.NoError(t, p.out.SetReadDeadline(time.Now().Add(timeout)))
	line, err := p.lines.ReadString('\n')
	if err != nil {
		p.fails(t, what, line)
	}
	return line
}

// fails ends the test: the server should say what, and has said said.
func (p *process) fails(t testing.TB, what, said string) {
	t.Helper()
	_ = p.Process.Kill()
	_ = p.out.SetReadDeadline(time.Now().Add(timeout))
	rest, _ := io.ReadAll(p.lines)
	t.Fatalf("the server does not say %s, but this, and its end is '%v':\n%s%s", what, p.Wait(), said, rest)
}

// end stops the server, and returns what it has done.
func (p *process) end(t testing.TB) *serve.Figures {
	t.Helper()
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	const what = "what it has done"
	line := p.line(t, what)
	var f serve.Figures
	if err := json.Unmarshal([]byte(line), &f); err != nil {
		p.fails(t, what, line)
	}
	rest, err := io.ReadAll(p.lines)
	require.NoError(t, err, "the server does not end")
	require.NoError(t, p.Wait(), "%s%s", line, rest)
	return &f
}
