package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"fiberlab/sched"
	"fiberlab/sched/uring"
)

// DefaultGrace is how long a server that has been told to stop waits for what is under way.
const DefaultGrace = 5 * time.Second

// Setup is what a server runs on. The zero value is Go's own net, on any free port of 127.0.0.1.
type Setup struct {
	Address string        // HOST:PORT; with port 0, or an empty Address, any free port
	Grace   time.Duration // for what is under way when the server is told to stop; 0: DefaultGrace, below 0: none
	Idle    time.Duration // closes connections on which no byte has moved for so long; 0: DefaultIdle, below 0: none
	Header  time.Duration // for the header of a request of HTTP; 0: DefaultHeader, below 0: none
	TLS     bool          // with a certificate that is made for the run, and that no client has reason to trust

	// Engines, if not nil, are the engines that carry the bytes, and Scheduler, which must have workers, runs the
	// fibers of the connections.
	Engines   *uring.Options
	Scheduler sched.Config

	// Listening is called once, when clients can connect.
	Listening func(At)
	// Stopping is called when the server has been told to stop, with the number of connections that are open still.
	Stopping func(open int)
	// Exhausted is called with the reason each time that the server could not accept a connection because no descriptor
	// or memory was left, before it waits and tries again. It runs on the goroutine or fiber that accepts, and must not
	// block.
	Exhausted func(error)
}

// At is where a server listens, and by what.
type At struct {
	Address string // with the port that it has got
	Driver  string // go, or what uring.ParseDriver takes
	Why     string // why it is this driver
}

// Program is what a server does with its connections: see Echo, HTTP and Files.
type Program interface {
	// name is what people call it.
	name() string
	// begin starts to serve the connections of l, and returns at once.
	begin(s *site, l net.Listener) (session, error)
}

// session is a program that serves.
type session interface {
	// ended gives an error, or nil, once, when no further connection is accepted.
	ended() <-chan error
	// open is how many connections there are.
	open() int
	// idle returns the connections on which no byte has moved since then.
	idle(then time.Time) []net.Conn
	// stop closes the listener, and ends the connections when what is under way on them is finished, or when ctx is
	// done. It returns when there is no connection left, or soon after ctx is done. It returns the number of
	// connections that ctx has ended, and the requests whose handlers go on nevertheless.
	stop(ctx context.Context) (cut int, left []string)
}

// site is what a program works with.
type site struct {
	host
	meter
	header      time.Duration // see Setup
	onExhausted func(error)   // may be nil
}

// refuse counts an attempt to accept a connection that failed by err, of which exhausted has said so.
func (s *site) refuse(err error) {
	s.refused.Add(1)
	if s.onExhausted != nil {
		s.onExhausted(err)
	}
}

// SetupError says why a server cannot be had as it was asked for, and what to do.
type SetupError struct {
	What   string // cannot be had, such as an address
	Err    error
	Remedy string
}

func (e *SetupError) Error() string {
	return fmt.Sprintf("cannot serve %s: %v: %s", e.What, e.Err, e.Remedy)
}

func (e *SetupError) Unwrap() error { return e.Err }

// CutError says that connections were closed before what was under way on them was finished.
type CutError struct {
	Connections int
	Grace       time.Duration
	Left        []string // requests, such as "GET /a", whose handlers go on, for they wait for something else
}

func (e *CutError) Error() string {
	which := "a connection was"
	if e.Connections != 1 {
		which = fmt.Sprintf("%d connections were", e.Connections)
	}
	left := ""
	if len(e.Left) > 0 {
		left = fmt.Sprintf(", and the handlers of %s go on", listed(e.Left))
	}
	const text = "%s cut before all was finished, %v after the order to stop%s: allow more time"
	return fmt.Sprintf(text, which, e.Grace, left)
}

// listed is a list of requests, the first few by name.
func listed(requests []string) string {
	const most = 5
	if more := len(requests) - most; more > 0 {
		return fmt.Sprintf("%s and %d others", strings.Join(requests[:most], ", "), more)
	}
	return strings.Join(requests, ", ")
}

// Run serves until ctx is done. Then it accepts no further connections, finishes what is under way, as long as
// Setup.Grace allows, and returns what it has done. It blocks its caller, which must be a goroutine. As long as it
// serves, it closes connections on which no byte moves, see Setup.Idle. The error is a *SetupError if the address or
// the folder is wrong, and a *CutError, with the figures, if it had to cut connections. Otherwise it comes from the
// driver, from the scheduler (sched.ErrNoWorkers), or from accepting connections. Figures come with any error that is
// met later than the first moment that clients could connect.
func Run(ctx context.Context, p Program, o Setup) (figures *Figures, err error) {
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.Idle == 0 {
		o.Idle = DefaultIdle
	}
	if o.Header == 0 {
		o.Header = DefaultHeader
	}
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	if err := checkAddress(o.Address); err != nil {
		return nil, err
	}
	// the runtime opens two descriptors for its first timer, and ends the program if there is none left
	time.AfterFunc(time.Hour, func() {}).Stop()
	h, err := newHost(o)
	if err != nil {
		return nil, err
	}
	s := &site{host: h, header: o.Header, onExhausted: o.Exhausted}
	var left []string
	defer func() {
		if len(left) > 0 { // they may be in an operation of the host that does not end either
			go func() { _ = h.close() }()
			return
		}
		err = errors.Join(err, h.close())
	}()
	l, err := h.listen(ctx, o.Address)
	if err != nil {
		return nil, explain(o.Address, err)
	}
	figures = &Figures{Program: p.name(), Address: l.Addr().String(), TLS: o.TLS}
	figures.Driver, figures.Why = h.driver()
	if o.TLS {
		var cfg *tls.Config
		if cfg, err = newTLSConfig(); err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l = tls.NewListener(l, cfg)
	}
	running, err := p.begin(s, l)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	watching, endWatch := context.WithCancel(context.WithoutCancel(ctx))
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		s.closeIdle(watching, running, o.Idle)
	}()
	defer func() { endWatch(); <-watched }()
	before := readUsage()
	start := time.Now()
	if o.Listening != nil {
		o.Listening(At{figures.Address, figures.Driver, figures.Why})
	}
	select {
	case <-ctx.Done():
	case err = <-running.ended():
	}
	if o.Stopping != nil {
		o.Stopping(running.open())
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(o.Grace, 0))
	defer cancel()
	if figures.Cut, left = running.stop(grace); figures.Cut > 0 || len(left) > 0 {
		err = errors.Join(err, &CutError{figures.Cut, max(o.Grace, 0), left})
	}
	figures.fill(s, time.Since(start), readUsage().minus(before))
	return figures, err
}

// checkAddress returns a *SetupError if address is not HOST:PORT.
func checkAddress(address string) error {
	const remedy = "give HOST:PORT, such as 127.0.0.1:8080; port 0 is any free one"
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		var wrong *net.AddrError
		if errors.As(err, &wrong) {
			err = errors.New(wrong.Err)
		}
		return wrongAddress(address, err, remedy)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return wrongAddress(address, fmt.Errorf("%q is no port", port), remedy)
	}
	return nil
}

func wrongAddress(address string, err error, remedy string) error {
	return &SetupError{fmt.Sprintf("on %q", address), err, remedy}
}

// explain says what to do about an error of listen.
func explain(address string, err error) error {
	remedy := ""
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		remedy = "choose another port, or 0 for any free one"
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		remedy = "ports below 1024 are the administrator's: choose one from 1024 up, or 0 for any free one"
	case errors.Is(err, syscall.EADDRNOTAVAIL), isNoHost(err):
		remedy = "name an address of this machine: 127.0.0.1 for clients on it alone, 0.0.0.0 for all"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		remedy = "no descriptor is left: raise ulimit -n"
	default:
		return fmt.Errorf("cannot serve on %q: %w", address, err)
	}
	return wrongAddress(address, innermost(err), remedy)
}

func isNoHost(err error) bool {
	var wrong *net.DNSError
	return errors.As(err, &wrong)
}

// innermost is what the kernel or the resolver said.
func innermost(err error) error {
	var errno syscall.Errno
	var resolver *net.DNSError
	switch {
	case errors.As(err, &errno):
		return errno
	case errors.As(err, &resolver):
		return errors.New(resolver.Err)
	}
	return err
}

// exhausted reports whether accepting has failed because something is used up that connections give back when they end.
func exhausted(err error) bool {
	if errors.Is(err, uring.ErrUnavailable) { // there is no engine, and there will be none
		return false
	}
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// gone reports whether accepting has failed for a client that is not there any more.
func gone(err error) bool {
	return errors.Is(err, syscall.ECONNABORTED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EINTR)
}

// closeWrite tells the other side that nothing follows.
func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// discard reads until the other side has closed, or the deadline of c has passed.
func discard(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
