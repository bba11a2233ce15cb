package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"fiberlab/internal/fault"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/uring"

	"golang.org/x/sys/cpu"
)

var (
	// ErrStarted is returned by Start while the context runs, and by Loop while the scheduler does.
	ErrStarted = errors.New("sched/uring: the context runs already: Join waits until it has stopped")
	// ErrNilTask is returned for a task without Run. It wraps sched.ErrNilTask.
	ErrNilTask = fault.Of(sched.ErrNilTask, "sched/uring: no task was given: set Run")
	// ErrFull is returned by TrySubmit if as many tasks are queued as Options.Tasks allows, or if others wait for room.
	// It wraps sched.ErrFull.
	ErrFull = fault.Of(
		sched.ErrFull, "sched/uring: the task queue is full: try again later, or call Submit, which waits",
	)
	// ErrNoContexts is returned by NewScheduler for a negative number of contexts. It wraps sched.ErrNoWorkers.
	ErrNoContexts = fault.Of(
		sched.ErrNoWorkers, "a negative number: ask for 1 or more, or for 0, one for each processor",
	)
	// ErrNoThread is returned by Start and Loop if Options.Fibers gives the worker no thread of its own.
	ErrNoThread = errors.New(
		"sched/uring: no thread for an engine: choose sched.Stealing, or another backend than goroutine")
	// ErrNotMade is returned by methods of a Context or a Scheduler that is the zero value, or nil.
	ErrNotMade = errors.New("sched/uring: no Context or Scheduler was made: call NewContext or NewScheduler")
)

// Options describes a context, or each context of a scheduler. The zero value is fine.
type Options struct {
	Engine uring.Options
	Tasks  int // that may be queued; 0 or less: 65,536

	// Fibers describes the fibers that run the tasks: backend, policy, stacks, recorder and the like. The context sets
	// Workers, Device, MaxQueued and GiveUpAfter itself.
	Fibers sched.Config

	// Panicked is called on the task's fiber when a task panics; the context goes on. If it is nil, a report goes to
	// stderr. Panics of tasks that a task has started go to Fibers.Panicked instead, if that is set.
	Panicked func(value any, stack []byte)
}

// Context is an engine with a thread, and with fibers that run its tasks. A task that waits, for input and output or
// for anything else, is suspended, and the thread does other things. A task stays with its context, and a completion
// comes to the engine that took the request.
//
// A context that is used alone stops itself when nothing is left. Then no task is queued, neither a task nor what it
// has started is suspended, and no input or output is under way. It can be started again.
type Context struct {
	id      int
	options Options
	engines *uring.Engines
	tasks   *taskQueue
	tryStop func(*contextRun) // what the loop does when nothing is left

	mu  sync.Mutex
	run atomic.Pointer[contextRun] // the last one; nil before the first Start
}

// contextRun is what a context has from Start until it has stopped.
type contextRun struct {
	scheduler *sched.Scheduler // with one worker
	device    *contextDevice   // and its device
	stop      *fibersync.Latch // open: it is to stop
	over      *fibersync.Latch // open: it has stopped, and err is set
	err       error
}

// NewContext returns a context that has not been started.
func NewContext(options Options) *Context {
	return newContext(int(contextsMade.Add(1)-1), options, uring.NewOfContexts(options.Engine))
}

// contextsMade counts the contexts of the process.
var contextsMade atomic.Int64

// newContext is NewContext with a number, and with an engine that belongs to engines.
func newContext(id int, options Options, engines *uring.Engines) *Context {
	if options.Tasks <= 0 {
		options.Tasks = 65536
	}
	if options.Panicked == nil {
		options.Panicked = toStderr
	}
	return &Context{
		id:      id,
		options: options,
		engines: engines,
		tasks:   newTaskQueue(options.Tasks),
		tryStop: (*contextRun).notifyStop,
	}
}

// ID is the context's number, which no other context of the process has. The contexts of one scheduler have consecutive
// numbers. Reports and the name of the context's thread have it behind Options.Fibers.Name.
func (c *Context) ID() int { return c.id }

// Engines returns the engines by which tasks open files and connections. While the context runs, they have its engine,
// and no other. While it does not run, an operation that needs an engine returns uring.ErrClosed.
func (c *Context) Engines() *uring.Engines { return c.engines }

// Submit queues a task, before or after Start. If the context has stopped, or is about to stop, the task begins after
// the next Start. Submit may be called from anywhere. While the queue is full, it blocks its caller. It blocks a fiber,
// not its thread, so tasks may submit to their own context. A fiber that must not block gets sched.ErrInWait if there
// is no room. If t.Run is nil, it returns ErrNilTask.
func (c *Context) Submit(t TopLevel) error { return c.submit(context.Background(), task{TopLevel: t}) }

// SubmitContext is Submit that gives up when ctx is done before there is room, and returns context.Cause(ctx). If there
// is room, it queues the task even if ctx is done. It returns sched.ErrNilContext if ctx is nil.
func (c *Context) SubmitContext(ctx context.Context, t TopLevel) error {
	if ctx == nil {
		return fmt.Errorf("sched/uring: submit: %w", sched.ErrNilContext)
	}
	return c.submit(ctx, task{TopLevel: t})
}

// TrySubmit is Submit that never blocks: if the queue is full, it returns ErrFull.
func (c *Context) TrySubmit(t TopLevel) error { return c.submit(atOnce, task{TopLevel: t}) }

// Pending is how many tasks are queued. It may be called from anywhere.
func (c *Context) Pending() int {
	if !c.made() {
		return 0
	}
	return c.tasks.len()
}

func (c *Context) made() bool { return c != nil && c.tasks != nil }

// submit is SubmitContext, or TrySubmit if ctx is atOnce.
func (c *Context) submit(ctx context.Context, t task) error {
	if !c.made() {
		return ErrNotMade
	}
	if t.Run == nil {
		return ErrNilTask
	}
	if err := c.tasks.put(ctx, t); err != nil {
		return err
	}
	c.wakeup()
	return nil
}

// wakeup wakes the context, if that runs, to look for tasks and test the stop rule. Any thread may call it.
func (c *Context) wakeup() {
	if r := c.run.Load(); r != nil {
		r.device.Engine.Kick()
	}
}

// Start starts the context on a new thread, and returns when that thread runs; it does not wait for tasks. It returns
// ErrStarted, ErrNoThread, or an error of sched.New, which may wrap ErrUnavailable or ErrDriver of package uring.
func (c *Context) Start() error {
	if err := c.begin(); err != nil {
		return err
	}
	c.openQueue()
	return nil
}

// begin is Start, but no task begins before openQueue. It locks mu.
func (c *Context) begin() error {
	if !c.made() {
		return ErrNotMade
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.run.Load(); r != nil && !r.over.Open() {
		return ErrStarted
	}
	r := &contextRun{stop: fibersync.NewLatch(1), over: fibersync.NewLatch(1)}
	cfg := c.options.Fibers
	cfg.Workers = 1
	if cfg.MaxQueued = 0; cfg.Policy == sched.Group {
		cfg.MaxQueued = math.MaxInt32 // 0 is a limit there
	}
	cfg.GiveUpAfter = -1
	if cfg.Name == "" {
		cfg.Name = "context"
	}
	cfg.Name = fmt.Sprintf("%s-%d", cfg.Name, c.id)
	if cfg.Panicked == nil {
		cfg.Panicked = c.options.Panicked
	}
	cfg.Device = func(w *sched.Worker) (sched.Device, error) {
		e, err := c.engines.Open(w)
		if err != nil {
			return nil, err
		}
		r.device = &contextDevice{Engine: e, context: c, run: r}
		r.device.next = sched.Task{Func: r.device.runNext}
		return r.device, nil
	}
	s, err := sched.New(cfg)
	if err != nil {
		return fmt.Errorf("sched/uring: start of a context: %w", err)
	}
	if r.device == nil {
		return errors.Join(ErrNoThread, s.Close())
	}
	r.scheduler = s
	c.run.Store(r)
	go c.end(r)
	return nil
}

// openQueue lets tasks begin.
func (c *Context) openQueue() {
	c.tasks.open.Store(true)
	c.wakeup()
}

// end waits until r is to stop, and then closes its scheduler. A separate goroutine calls it for each run.
func (c *Context) end(r *contextRun) {
	r.stop.Wait()
	r.err = r.scheduler.Close()
	r.over.CountDown()
}

// notifyStop tells the context, which must have been started, to stop. Queued tasks stay in the queue. Tasks that have
// begun, and what they have started, end first. Any thread may call it, even more than once, but no two at once.
func (c *Context) notifyStop() { c.run.Load().notifyStop() }

func (r *contextRun) notifyStop() {
	r.device.context.tasks.open.Store(false)
	if !r.stop.Open() {
		r.stop.CountDown()
	}
}

// Join waits until the context has stopped. It blocks a fiber, not its thread. If the context was never started, it
// returns nil. In a task of the context, which would wait for itself, it returns an error that wraps sched.ErrInTask.
func (c *Context) Join() error { return c.JoinContext(context.Background()) }

// JoinContext is Join that gives up when ctx is done, and then returns context.Cause(ctx); c goes on running. It
// returns sched.ErrNilContext if ctx is nil.
func (c *Context) JoinContext(ctx context.Context) error {
	if !c.made() {
		return ErrNotMade
	}
	r := c.run.Load()
	switch {
	case ctx == nil:
		return fmt.Errorf("sched/uring: join of a context: %w", sched.ErrNilContext)
	case r == nil:
		return nil
	case sched.Get() == r.scheduler:
		return fmt.Errorf("sched/uring: join of a context: %w", sched.ErrInTask)
	}
	var err error
	if uring.Unseen(func() { err = r.over.WaitContext(ctx) }); err != nil {
		return err
	}
	return r.err
}

// contextDevice is the engine of a context, as the device of its worker. The worker's loop runs tasks, polls the device
// now and then, and waits in it when there is nothing to run. contextDevice adds the rounds of the task queue, and the
// stop rule: see taskQueue and nothingLeft. Only the worker's thread calls the methods below.
type contextDevice struct {
	*uring.Engine
	context *Context
	run     *contextRun
	next    sched.Task // runNext

	_     [2]cpu.CacheLinePad // submitters read what is above
	alive int                 // top-level tasks that have begun and not ended; for the thread of the worker
}

var _ sched.Device = (*contextDevice)(nil)

// Ready implements sched.Device.
func (d *contextDevice) Ready() bool { return d.context.tasks.ready() || d.Engine.Ready() }

// Poll implements sched.Device: it begins a round, if one can begin, and polls the engine.
func (d *contextDevice) Poll() {
	d.context.tasks.round(d.begin)
	d.Engine.Poll()
}

// begin queues next on the worker, which calls runNext on a fiber.
func (d *contextDevice) begin() {
	if err := d.run.scheduler.TryEnqueueOn(0, d.next); err != nil {
		panic(err) // the worker takes what it gives to itself until it ends
	}
}

// runNext runs the next task of the round.
func (d *contextDevice) runNext() {
	d.alive++
	defer func() { d.alive-- }()
	d.context.tasks.next().run(d.context.options.Panicked)
}

// Wait implements sched.Device. If a round can begin, it begins that, polls the engine, and does not wait. Otherwise it
// tests the stop rule, and then waits. The test comes first, as nothing may ever end the wait.
func (d *contextDevice) Wait(limit time.Duration, brief bool) {
	if d.context.tasks.ready() {
		d.Poll()
		return
	}
	if d.nothingLeft() {
		d.context.tryStop(d.run)
	}
	d.Engine.Wait(limit, brief)
}

// nothingLeft is the stop rule: the queue is open and empty, no caller waits for room in it, nothing is suspended, and
// no input or output is under way. No task runs: the worker calls nothingLeft when it is about to wait.
func (d *contextDevice) nothingLeft() bool {
	tasks := d.context.tasks
	return tasks.open.Load() && tasks.empty() && !d.anySuspended() && d.Engine.Idle()
}

// anySuspended reports whether a top-level task is suspended, or what such tasks have started is suspended or queued.
func (d *contextDevice) anySuspended() bool {
	if d.alive > 0 {
		return true
	}
	started := d.run.scheduler.Stats()
	return started.Blocked+started.Pending > 0
}
