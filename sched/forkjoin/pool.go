package forkjoin

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fiberlab/internal/fault"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

// The errors of this package. Each error that a call returns wraps one of these, or one of packages sched and
// fibersync. ErrNoScheduler wraps fibersync.ErrNilScheduler; ErrNotMade and ErrInTask wrap the errors of these names of
// package sched.
var (
	ErrNoScheduler = fault.Of(fibersync.ErrNilScheduler, "the scheduler is nil: give the one that shall run the tasks")
	ErrNoForm      = errors.New("there is no such form: Forms lists them")
	ErrNotMade     = fault.Of(
		sched.ErrNotMade,
		"it is a zero value, or its call has returned: "+
			"use one that New, Submit or NewFunc has returned, or that a task has got",
	)
	ErrClosed  = errors.New("the pool is closed: submit and call before Close")
	ErrDropped = errors.New("the future has been dropped: get it before Drop")
	ErrLive    = errors.New(
		"futures are live that were neither fetched nor dropped: call Get or Drop of each before Close",
	)
	ErrInTask = fault.Of(
		sched.ErrInTask,
		"the caller is a task of the pool, which would wait for itself: close the pool outside of its tasks",
	)
)

var errClosedBefore = fault.Of(ErrClosed, "the pool has been closed: call Close once")

// notMade is the error of a call on a zero value of that type.
func notMade(what string) error { return fmt.Errorf("forkjoin: a %s: %w", what, ErrNotMade) }

// Config says what a pool is like. The zero value is ready.
type Config struct {
	Form Form

	// Beat is how long a fork has to be there until an idle worker under Heartbeat takes it. After one that took Beat
	// or longer the worker takes the next at once, and so it does while other tasks need it. 0: 50 microseconds.
	Beat time.Duration

	// Forgotten, if not nil, is called with a text for each future that the garbage collector finds although it was
	// neither fetched nor dropped, on a goroutine of the collector. It is also called for each call of a Func that has
	// returned without joining its forks, by the strand that ran it. It must not block. It makes each Submit slower.
	Forgotten func(what string)
}

// Pool is what tasks are submitted to. The Pool that New returns may be used from anywhere. A task gets another Pool:
// the same pool, seen from the stack on which the task runs, which is quicker there. Elsewhere, or when the task has
// returned, it works like New's. A function that gets a nil or zero Pool panics with an error that wraps ErrNotMade;
// Close returns that.
//
// Tasks run on fibers of the scheduler. A goroutine that is no task may call For, Func.Call and the like: the pool does
// the work on a fiber, while the goroutine blocks. Only a scheduler that has no workers, to which the caller is not
// bound, or that has been closed before the pool, leaves tasks to goroutines.
type Pool struct {
	of     *shared
	strand *strand // nil: that of the caller, if it has one
}

// shared is what all views of a pool share.
type shared struct {
	scheduler *sched.Scheduler
	cfg       Config
	form      form
	root      Pool
	loads     []*load // of the scheduling groups by number; without workers one, of the goroutines that are bound

	strands sync.Map        // of *strand, by number of the fiber or goroutine
	atWork  strandSet       // those that are not parked
	wanting atomic.Uint64   // how many of loads want a drainer
	long    atomic.Bool     // under Heartbeat: the fork that was taken last took a beat or more
	running atomic.Int64    // strands, callers that were admitted, and drainers that have been started
	live    atomic.Int64    // futures that have been neither fetched nor dropped
	closed  atomic.Bool     // Close has begun
	ended   fibersync.Event // once closed, whenever running may have become 0
	unused  sync.Pool       // of *strand
	counts

	mu         sync.Mutex
	disposable map[disposer]struct{} // futures that Close may have to dispose of
}

// New makes a pool on the workers of s. It starts nothing: the first Submit or Join does. Close the pool before s. It
// returns ErrNoScheduler, ErrNoForm, or sched.ErrNegative for a negative Beat.
func New(s *sched.Scheduler, cfg Config) (*Pool, error) {
	switch {
	case s == nil:
		return nil, fmt.Errorf("forkjoin: new: %w", ErrNoScheduler)
	case cfg.Form < 0 || int(cfg.Form) >= len(formNames):
		return nil, fmt.Errorf("forkjoin: new: %v: %w", cfg.Form, ErrNoForm)
	case cfg.Beat < 0:
		return nil, fmt.Errorf("forkjoin: new: beat %v: %w", cfg.Beat, sched.ErrNegative)
	}
	if cfg.Beat == 0 {
		cfg.Beat = 50 * time.Microsecond
	}
	p := &shared{scheduler: s, cfg: cfg}
	p.setLoads()
	p.root.of = p
	switch cfg.Form {
	case Locked:
		p.form = &locked{pool: p}
	case Deque:
		p.form = &deques{pool: p}
	case Heartbeat:
		p.form = &heartbeat{pool: p}
	}
	return &p.root, nil
}

// Close ends the pool. From now on what comes from outside fails. Get of what is submitted returns ErrClosed. Join, For
// and the like panic with an error that wraps it; if they have a context, they return the error. Close takes what has
// been submitted from outside and has not started off its queue, unrun, and its Get returns ErrClosed. It waits for the
// tasks that are in progress, and for tasks that they have submitted. Then it disposes of results that have not been
// fetched; see Future.Discard. It blocks the caller until then, a fiber not its thread. When Close has returned,
// nothing of the pool runs or begins. If functions that dispose of results panic, Close disposes of the others, and
// panics with an error that wraps a *fibersync.PanicError of each.
//
// The error wraps ErrLive if there are futures that were neither fetched nor dropped; the pool is closed nevertheless.
// It is ErrInTask, and nothing has happened, if a task of the pool calls, itself, in a coroutine (iter.Pull), or in a
// blocking call. A second Close returns ErrClosed. A coroutine is not recognized where tasks run on goroutines, nor on
// the goroutine backend if fibers migrate: there Close would never return.
func (p *Pool) Close() error {
	if p == nil || p.of == nil {
		return notMade("Pool")
	}
	c := p.of
	if p.ownStrand() != nil || c.isCalled() {
		return fmt.Errorf("forkjoin: close: %w", ErrInTask)
	}
	if c.closed.Swap(true) {
		return fmt.Errorf("forkjoin: close: %w", errClosedBefore)
	}
	c.quiesce()
	c.mu.Lock()
	left := slices.Collect(maps.Keys(c.disposable))
	c.disposable = nil
	c.mu.Unlock()
	n := c.live.Load()
	if err := abandon(left); err != nil {
		panic(err)
	}
	if n > 0 {
		return fmt.Errorf("forkjoin: close a pool with %d live futures: %w", n, ErrLive)
	}
	return nil
}

// quiesce returns when the pool, which is closed, is at rest: nothing runs that could bring a job, and no job waits.
//
//	caller:  running++           then load closed:   set?    running--, and bring nothing
//	Close:   closed = true       then load running:  not 0?  wait until it may be
//
// Each first writes and then reads, so Close waits for each caller that it does not turn away. For each job that
// waits there is a drainer that will come, or a strand after which one will, and running counts these: see
// drainer.go. They drop the job, or run it if a task of the pool has submitted it.
func (p *shared) quiesce() {
	for p.running.Load() > 0 {
		p.ended.Wait()
	}
}
