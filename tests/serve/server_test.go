package serve_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/cmd/fiberlab/serve"
	"fiberlab/sched"
	"fiberlab/sched/uring"
	"fiberlab/tests/internal/leaks"
	"fiberlab/tests/internal/suite"
)

// timeout is how long a test waits for what has to come.
const timeout = time.Minute

// eachSetup runs test over what a server runs on:
// Go's net, and each driver of package uring with schedulers of several kinds.
func eachSetup(t *testing.T, test func(t *testing.T, o serve.Setup)) {
	t.Helper()
	setups(t, func(configs []sched.Config) []sched.Config { return configs }, test)
}

// someSetups is eachSetup for tests that take long: each driver meets two kinds of schedulers.
func someSetups(t *testing.T, test func(t *testing.T, o serve.Setup)) {
	t.Helper()
	setups(t, func(configs []sched.Config) []sched.Config {
		return []sched.Config{configs[0], configs[len(configs)-1]} // they are ordered by backends
	}, test)
}

// oneSetup is eachSetup with one kind of scheduler.
func oneSetup(t *testing.T, test func(t *testing.T, o serve.Setup)) {
	t.Helper()
	setups(t, func(configs []sched.Config) []sched.Config { return configs[:1] }, test)
}

func setups(t *testing.T, choose func([]sched.Config) []sched.Config, test func(t *testing.T, o serve.Setup)) {
	t.Helper()
	t.Run("go", func(t *testing.T) {
		leaks.Check(t)
		test(t, serve.Setup{})
	})
	for _, d := range uring.Drivers() {
		t.Run(d.String(), func(t *testing.T) {
			if d == uring.Uring {
				if why := uring.Probe().Reason; why != nil {
					t.Skip(why)
				}
			}
			for _, cfg := range choose(suite.Over{Workers: []int{1, 2}}.Configs(t.Name())) {
				t.Run(suite.Name(cfg), func(t *testing.T) {
					leaks.Check(t)
					test(t, serve.Setup{Engines: &uring.Options{Driver: d}, Scheduler: cfg})
				})
			}
		})
	}
}

// server is a server that runs in this process.
type server struct {
	serve.At
	t        *testing.T
	stop     context.CancelFunc
	stopping chan int // how many connections were open when it was told to stop
	figures  *serve.Figures
	err      error
	over     chan struct{}
}

// start starts a server, with much time to finish its work unless o says otherwise. At the end of the test it must have
// been stopped by end, or be able to stop without cutting a connection.
func start(t *testing.T, p serve.Program, o serve.Setup) *server {
	t.Helper()
	if o.Grace == 0 {
		o.Grace = timeout / 2
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &server{t: t, stop: stop, stopping: make(chan int, 1), over: make(chan struct{})}
	listening := make(chan serve.At, 1)
	o.Listening = func(at serve.At) { listening <- at }
	o.Stopping = func(open int) { s.stopping <- open }
	go func() {
		defer close(s.over)
		s.figures, s.err = serve.Run(ctx, p, o)
	}()
	select {
	case s.At = <-listening:
	case <-s.over:
		stop()
		require.NoError(t, s.err)
	}
	t.Cleanup(func() {
		stop()
		<-s.over
	})
	return s
}

// wait returns what the server has done when it has stopped, and why it stopped.
func (s *server) wait() (*serve.Figures, error) {
	s.t.Helper()
	s.stop()
	select {
	case <-s.over:
	case <-time.After(timeout):
		require.Fail(s.t, "the server does not stop")
	}
	return s.figures, s.err
}

// end is wait for a server that finishes all of its work.
func (s *server) end() *serve.Figures {
	s.t.Helper()
	f, err := s.wait()
	require.NoError(s.t, err)
	return f
}
