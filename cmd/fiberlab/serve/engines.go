package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"fiberlab/sched"
	"fiberlab/sched/uring"
	"fiberlab/sched/uring/fiberio"
)

// enginesHost is engines of package uring, and a fiber for each connection.
type enginesHost struct {
	engines   *uring.Engines
	scheduler *sched.Scheduler
	cfg       sched.Config
	by        uring.Driver
	why       string
	turn      atomic.Uint32 // of the workers, for what is run
}

func newEngines(o Setup) (host, error) {
	if asked := o.Engines.Driver; asked != uring.Auto {
		return newEnginesBy(asked, "asked for", o)
	}
	h, err := newEnginesBy(uring.Uring, "the kernel has io_uring", o)
	if errors.Is(err, uring.ErrUnavailable) { // for all workers the same driver, even if there was room for some rings
		return newEnginesBy(uring.Epoll, err.Error(), o)
	}
	return h, err
}

// newEnginesBy returns a host by that driver, and why it is chosen.
func newEnginesBy(driver uring.Driver, why string, o Setup) (host, error) {
	h := &enginesHost{cfg: o.Scheduler, by: driver, why: why}
	options := *o.Engines
	options.Driver = driver
	h.engines = uring.New(options)
	h.engines.Attach(&h.cfg)
	var err error
	if h.scheduler, err = sched.New(h.cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("driver %v: %w", driver, err), h.engines.Close())
	}
	if _, err = h.engines.Here(); err != nil { // workers without threads share an engine, which begins now
		return nil, errors.Join(fmt.Errorf("driver %v: %w", driver, err), h.close())
	}
	return h, nil
}

func (h *enginesHost) listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := fiberio.Listen(ctx, h.engines, "tcp", address)
	if err != nil {
		return nil, err // not a nil *fiberio.Listener
	}
	return l, nil
}

// run gives each worker the same number of connections. The policy may put all that come to an idle server on one
// worker, where their fibers stay.
func (h *enginesHost) run(f func()) error {
	workers := h.scheduler.Workers()
	if workers == 0 {
		return h.scheduler.Go(f)
	}
	return h.scheduler.EnqueueOn(int(h.turn.Add(1)%uint32(workers)), sched.Task{Func: f})
}

func (h *enginesHost) sleep(d time.Duration)      { sched.Sleep(d) }
func (h *enginesHost) driver() (name, why string) { return h.by.String(), h.why }

func (h *enginesHost) describe(f *Figures) {
	backend, err := h.cfg.Backend.Resolve()
	if err == nil {
		f.Backend = backend.String()
	}
	f.Policy, f.Workers = h.cfg.Policy.String(), h.cfg.Workers
	did := h.engines.Stats()
	f.Engines = &EngineFigures{Enters: did.Enters, Submitted: did.Submitted, Collected: did.Collected, Wakes: did.Wakes}
	if f.Requests > 0 {
		f.Engines.EntersPerRequest = float64(did.Enters) / float64(f.Requests)
	}
}

func (h *enginesHost) close() error { return errors.Join(h.scheduler.Close(), h.engines.Close()) }
