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
	// ErrFull is returned by TrySubmit if as many tasks wait to begin as Options.Tasks allows. It wraps sched.ErrFull.
	ErrFull = fault.Of(
		sched.ErrFull, "sched/uring: the task queue is full: try again later, or call Submit, which waits",
	)
	// ErrNoContexts is returned by NewScheduler for a negative number of contexts. It wraps sched.ErrNoWorkers.
	ErrNoContexts = fault.Of(
		sched.ErrNoWorkers, "a negative number: ask for 1 or more, or for 0, one for each processor",
	)
	// ErrNoThread is returned by Start if the fibers of Options.Fibers have no thread of their own.
	ErrNoThread = errors.New(
		"sched/uring: no thread for an engine: choose sched.Stealing, or another backend than goroutine")
	// ErrNotMade is returned by methods of a Context or a Scheduler that is the zero value, or nil.
	ErrNotMade = errors.New("sched/uring: no Context or Scheduler was made: call NewContext or NewScheduler")
)

// Options describes a context, or each context of a scheduler. The zero value is fine.
type Options struct {
	Engine uring.Options
	Tasks  int // that may be queued; 0: 65,536

	// Fibers describes the fibers that run the tasks: backend, policy, stacks, recorder and the like. The context sets
	// Workers, Device, MaxQueued and GiveUpAfter itself.
	Fibers sched.Config

	// Panicked is called when a task panics, on the task's fiber; the context goes on. If it is nil, a report goes to
	// stderr.
	Panicked func(value any, stack []byte)
}

// Context is an engine with a thread, and with fibers that run its tasks. A task that waits, for input and output or
// for anything else, is suspended, and the thread does other things. A task stays with its context, and what it asks
// for comes back to the ring that it was submitted to.
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
	over      *fibersync.Latch // open: it has, and err is set
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

// Engines are what tasks of the context open files and connections by. They have the context's engine while it runs,
// and no other: between two runs, what is opened or used by them returns ErrClosed.
func (c *Context) Engines() *uring.Engines { return c.engines }

// Submit queues a task, before or after Start; a task that is queued when the context has stopped, or just stops,
// begins after the next Start. It may be called from anywhere. If the queue is full, it blocks its caller until a task
// has begun: a fiber not its thread, so tasks may submit to their own context. It returns ErrNilTask.
func (c *Context) Submit(t TopLevel) error { return c.submit(context.Background(), task{TopLevel: t}) }

// SubmitContext is Submit that gives up when ctx is done before there is room, and returns context.Cause(ctx). If there
// is room, it queues the task even if ctx is done. It returns sched.ErrNilContext if ctx is nil.
func (c *Context) SubmitContext(ctx context.Context, t TopLevel) error {
	if ctx == nil {
		return fmt.Errorf("sched/uring: submit: %w", sched.ErrNilContext)
	}
	return c.submit(ctx, task{TopLevel: t})
}

// TrySubmit is Submit that never blocks: it returns ErrFull if the queue is full, and ErrNilTask.
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

// wakeup has the context look for tasks, and at the stop rule, if it runs.
func (c *Context) wakeup() {
	if r := c.run.Load(); r != nil {
		r.device.Engine.Kick()
	}
}

// Start runs the context on a new thread, and returns when it runs; it does not wait for tasks. It returns ErrStarted,
// ErrNoThread, an error of sched.New, or an error that wraps ErrUnavailable.
func (c *Context) Start() error {
	if err := c.begin(); err != nil {
		return err
	}
	c.openQueue()
	return nil
}

// begin is Start of a context whose tasks wait for openQueue.
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

// end ends a run that is to stop.
func (c *Context) end(r *contextRun) {
	r.stop.Wait()
	r.err = r.scheduler.Close()
	r.over.CountDown()
}

// notifyStop has the context stop. Tasks that are queued stay there; tasks that have begun, and what they have started,
// come to their ends first. It may be called from anywhere, more than once.
func (c *Context) notifyStop() { c.run.Load().notifyStop() }

func (r *contextRun) notifyStop() {
	r.device.context.tasks.open.Store(false)
	if !r.stop.Open() {
		r.stop.CountDown()
	}
}

// Join blocks its caller until the context has stopped, a fiber not its thread. A context that was never started has.
// It returns an error that wraps sched.ErrInTask to a task of the context itself, which would wait for its own end.
func (c *Context) Join() error { return c.JoinContext(context.Background()) }

// JoinContext is Join that gives up when ctx is done, and returns context.Cause(ctx): the context goes on. It returns
// sched.ErrNilContext if ctx is nil.
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

// contextDevice is the engine of a context as its worker sees it. The worker's loop is the context's: it runs tasks,
// polls the engine now and then, and waits in it when there is nothing to run. What is here adds the rounds of the task
// queue, and the stop rule.
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

// Poll implements sched.Device: it begins a round, and polls the engine.
func (d *contextDevice) Poll() {
	d.context.tasks.round(d.begin)
	d.Engine.Poll()
}

// begin queues runNext as a task of the worker's own, which runs it on a fiber.
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

// Wait implements sched.Device: it begins a round, or waits if there is none to begin. The stop rule is tested before:
// the wait would not end.
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

// nothingLeft is the stop rule: no task is queued, none is suspended, no input or output is under way. No task runs:
// the worker is about to wait.
func (d *contextDevice) nothingLeft() bool {
	tasks := d.context.tasks
	return tasks.open.Load() && tasks.empty() && !d.anySuspended() && d.Engine.Idle()
}

// anySuspended reports whether a top-level task is suspended, or anything that such tasks have started.
func (d *contextDevice) anySuspended() bool {
	if d.alive > 0 {
		return true
	}
	started := d.run.scheduler.Stats()
	return started.Blocked+started.Pending > 0
}
