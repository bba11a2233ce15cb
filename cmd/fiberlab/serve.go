package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fiberlab/cmd/fiberlab/serve"
	"fiberlab/sched"
	"fiberlab/sched/uring"
)

// goDriver is the driver that is none of package uring.
const goDriver = "go"

// serveOptions are the flags and arguments of a server.
type serveOptions struct {
	serve.Setup
	json bool
}

func (l *lab) serveCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run a server on fibers and io_uring, on epoll, or on Go's own net",
	}
	c.AddCommand(
		l.serverCommand(
			"echo", "Echo each connection's bytes",
			`Sends the bytes of each connection back. One write answers each read. With driver uring or epoll each
connection has a fiber, with driver go a goroutine.`,
			serve.Echo(),
		),
		l.serverCommand(
			"http", "Answer HTTP: /, /bytes/N and /echo",
			`Answers HTTP by the server of net/http: / is a line of text, /bytes/N is N bytes, and /echo sends the body of
the request back. net/http starts a goroutine for each connection, whatever the driver.`,
			serve.HTTP(),
		),
		l.serverCommand(
			"files", "Serve a folder's files over HTTP",
			`Serves the files below DIR (default: the current folder) over HTTP, by the file server of net/http. It follows
links that lead out of DIR. It answers 403 for pipes, sockets and devices.`,
			nil,
		),
	)
	return c
}

// serverCommand is the command that runs one server. A nil program stands for the server that takes a folder.
func (l *lab) serverCommand(name, short, long string, program serve.Program) *cobra.Command {
	var o serveOptions
	use := name
	if program == nil {
		use += " [DIR]"
	}
	c := &cobra.Command{
		Use:   use,
		Short: short,
		Long: long + `

A line on standard error says where the server listens. SIGINT or SIGTERM stops it: it accepts nothing more,
finishes the requests under way, and prints a report. A second signal ends it at once. Connections on which no
byte moves for --idle-timeout are closed.

Exit status: 0 stopped, and all was finished; 1 the work failed, or connections had to be cut; 2 the command
line is wrong, or the address or DIR cannot be used.`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case program != nil && len(args) > 0:
				return fmt.Errorf("%s %s: it takes no arguments: --addr says where it listens", name, args[0])
			case len(args) > 1:
				return fmt.Errorf("%d directories: give one DIR, or none for the current one", len(args))
			case len(args) == 1 && args[0] == "":
				return errors.New("DIR is empty: leave it out for the current one")
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			if program != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(c *cobra.Command, args []string) error {
			p := program
			if p == nil {
				p = serve.Files(append(args, ".")[0])
			}
			return l.serve(c.Context(), p, o)
		},
	}
	addServeFlags(c, &o)
	return c
}

// addServeFlags adds the flags of all servers.
func addServeFlags(c *cobra.Command, o *serveOptions) {
	var driver, backend, policy string
	flags := c.Flags()
	flags.StringVar(&driver, "driver", uring.Auto.String(), "carry the bytes by `NAME`: "+anyOf(driverNames()))
	flags.StringVar(&o.Address, "addr", "127.0.0.1:8080", "listen on `HOST:PORT`; port 0 is any free one")
	flags.DurationVar(
		&o.Grace, "grace", serve.DefaultGrace, "how long what is under way may take after the signal to stop",
	)
	flags.DurationVar(&o.Idle, "idle-timeout", serve.DefaultIdle,
		"close connections on which no byte moves for `TIME`; 0 closes none")
	if c.Name() != "echo" {
		flags.DurationVar(&o.Header, "header-timeout", serve.DefaultHeader,
			"wait `TIME` for the header of a request; 0 waits without end")
		setRemedy(flags.Lookup("header-timeout"), aTime)
		complete(c, "header-timeout")
	}
	flags.BoolVar(&o.TLS, "tls", false, "speak TLS, with a certificate made for this run")
	flags.IntVar(&o.Scheduler.Workers, "workers", runtime.GOMAXPROCS(0), "worker threads of the scheduler")
	flags.StringVar(&backend, "backend", "", "run on fibers of the backend `NAME`: "+anyOf(backendNames()))
	flags.StringVar(&policy, "policy", policyNames()[0], "schedule by the policy `NAME`: "+anyOf(policyNames()))
	flags.BoolVar(&o.json, "json", false, "print one JSON document at the end")
	setRemedy(flags.Lookup("driver"), "choose one of "+anyOf(driverNames()))
	setRemedy(flags.Lookup("addr"), "give HOST:PORT, such as 127.0.0.1:8080; port 0 is any free one")
	for _, name := range []string{"grace", "idle-timeout"} {
		setRemedy(flags.Lookup(name), aTime)
	}
	setRemedy(flags.Lookup("workers"), fmt.Sprintf("give a number from 1 to %d", mostWorkers))
	complete(c, "driver", driverNames()...)
	complete(c, "backend", backendNames()...)
	complete(c, "policy", policyNames()...)
	for _, name := range []string{"addr", "grace", "idle-timeout", "workers"} {
		complete(c, name)
	}
	c.PreRunE = func(*cobra.Command, []string) error {
		switch {
		case o.Address == "":
			return wrongValue(flags.Lookup("addr"), "")
		case o.Grace < 0:
			return wrongValue(flags.Lookup("grace"), o.Grace.String())
		case o.Idle < 0:
			return wrongValue(flags.Lookup("idle-timeout"), o.Idle.String())
		case o.Header < 0:
			return wrongValue(flags.Lookup("header-timeout"), o.Header.String())
		case o.Scheduler.Workers < 1 || o.Scheduler.Workers > mostWorkers:
			return wrongValue(flags.Lookup("workers"), strconv.Itoa(o.Scheduler.Workers))
		}
		for _, d := range []*time.Duration{&o.Grace, &o.Idle, &o.Header} {
			if *d == 0 {
				*d = -1 // for serve.Setup, 0 is the default
			}
		}
		policies, err := parseNames(flags.Lookup("policy"), []string{policy}, sched.ParsePolicy)
		if err != nil {
			return err
		}
		o.Scheduler.Policy = policies[0]
		if flags.Changed("backend") {
			backends, err := parseNames(flags.Lookup("backend"), []string{backend}, parseBackend)
			if err != nil {
				return err
			}
			o.Scheduler.Backend = backends[0]
		}
		if o.Engines, err = enginesBy(flags.Lookup("driver"), driver); err != nil {
			return err
		}
		if o.Engines == nil {
			for _, name := range []string{"workers", "backend", "policy"} {
				if flags.Changed(name) {
					return fmt.Errorf(
						"--%s is about fibers, and driver %s has none: choose another --driver, or leave it out", name,
						goDriver,
					)
				}
			}
			return nil
		}
		o.Scheduler.Name = c.Name()
		return checkEnvironment()
	}
}

// aTime is the remedy for a flag that is a time.
const aTime = "give a time from 0 up, such as 500ms or 10s"

// driverNames lists the drivers of servers, the default one first.
func driverNames() []string {
	names := []string{uring.Auto.String()}
	for _, d := range uring.Drivers() {
		names = append(names, d.String())
	}
	return append(names, goDriver)
}

// enginesBy returns the engines that the flag chooses by the name of a driver: nil for driver go.
func enginesBy(flag *pflag.Flag, name string) (*uring.Options, error) {
	if !slices.Contains(driverNames(), name) {
		return nil, wrongValue(flag, name)
	}
	if name == goDriver {
		return nil, nil
	}
	driver, err := uring.ParseDriver(name)
	if err != nil {
		return nil, err
	}
	return &uring.Options{Driver: driver}, nil
}

// serve runs a server until ctx is done, and reports what it has done.
func (l *lab) serve(ctx context.Context, p serve.Program, o serveOptions) error {
	say := func(format string, args ...any) {
		fmt.Fprintln(l.stderr, "fiberlab: "+fmt.Sprintf(format, args...))
	}
	o.Listening = func(at serve.At) {
		say("listening on %s, by driver %s (%s)", at.Address, at.Driver, at.Why)
	}
	o.Stopping = func(open int) {
		if open > 0 {
			say(
				"stopping: %s to be finished within %v; another signal ends it at once", counted(open, "connection"),
				max(o.Grace, 0).Round(time.Millisecond),
			)
		}
	}
	r := report{Machine: thisMachine()}
	figures, err := serve.Run(ctx, p, o.Setup)
	r.Served = figures
	var cut *serve.CutError
	var wrong *serve.SetupError
	if errors.As(err, &wrong) {
		return err
	}
	if errors.As(err, &cut) { // what it has done is still worth telling, though handlers may still hold fibers
		return failure{errors.Join(r.write(l.stdout, o.json), fmt.Errorf("%w by a longer --grace", err))}
	}
	return l.finish(options{json: o.json}, r, err)
}

// writeServed writes the figures of a server.
func writeServed(p *page, f *serve.Figures) {
	p.say("%s on %s, by driver %s, for %s", f.Program, f.Address, f.Driver, seconds(f.Seconds))
	if f.Backend != "" {
		p.say("%s, backend %s, policy %s", counted(f.Workers, "worker"), f.Backend, f.Policy)
	}
	g := newGrid("connections", "requests", "bytes in", "bytes out", "refused", "cut")
	g.add(
		thousands(int(f.Connections)), thousands(int(f.Requests)), thousands(int(f.BytesIn)),
		thousands(int(f.BytesOut)), thousands(int(f.Refused)), thousands(f.Cut),
	)
	p.table(g, "")
	if f.Idle > 0 {
		p.say("closed because no byte moved: %s", counted(int(f.Idle), "connection"))
	}
	if f.Requests == 0 {
		return
	}
	g = newGrid("microseconds", "median", "p99", "user", "system")
	g.add(
		"a request", decimal(f.ServiceP50), decimal(f.ServiceP99), decimal(f.UserPerRequest),
		decimal(f.SystemPerRequest),
	)
	p.table(g, "From the end of the read to the end of the write, and processor time of the whole process")
	if e := f.Engines; e != nil {
		g = newGrid("engines", "enters", "submitted", "completed", "wakes", "enters a request")
		g.add(
			"all", thousands(int(e.Enters)), thousands(int(e.Submitted)), thousands(int(e.Collected)),
			thousands(int(e.Wakes)), fmt.Sprintf("%.3f", e.EntersPerRequest),
		)
		p.table(
			g,
			"What the engines did: system calls, requests to the kernel, completions, and waits ended by other threads",
		)
	}
}
