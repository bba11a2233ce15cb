package uring

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"fiberlab/internal/fault"
	"fiberlab/sched"
)

// ErrClosed is wrapped by the errors of operations whose engine has ended, or refuses requests.
var ErrClosed = errors.New(
	"sched/uring: the engine has ended: end what uses it before its scheduler and its Engines are closed",
)

var (
	errEnginesClosed = fault.Of(ErrClosed, "sched/uring: the Engines are closed: make others with New, or another Context")
	errNoContextRuns = fault.Of(
		ErrClosed, "sched/uring: no context of these Engines runs: start one first, and use them in its tasks",
	)
)

// Engines do the input and output of a program. Each worker of the schedulers that they are attached to has an engine.
// If none runs when one is needed, one starts on a separate thread; see NewOfContexts for the exception. Package
// fiberio opens files, connections and listeners with Engines, for fibers and goroutines alike.
type Engines struct {
	options  Options
	contexts bool // they belong to contexts: no engine has a separate thread

	mu     sync.Mutex
	closed atomic.Bool // set with mu held: no engine is added afterwards
	alone  *Engine     // the one on a separate thread; nil: it has not begun

	list atomic.Pointer[[]*Engine] // never changed in place; replaced with mu held
	next atomic.Uint32
}

// New returns engines that have not begun: see Attach. Close must be called at the end.
func New(options Options) *Engines { return &Engines{options: options} }

// NewOfContexts returns engines that begin and end with contexts: no Close is needed. While none runs, Here fails.
func NewOfContexts(options Options) *Engines { return &Engines{options: options, contexts: true} }

// Attach sets cfg.Device, so that each worker of a scheduler made from cfg has an engine. The engine begins and ends
// with its worker. Call Attach before sched.New: it does not change schedulers that exist. If an engine cannot begin,
// sched.New returns the error, which wraps ErrUnavailable, ErrDriver or ErrClosed, or is the kernel's. Workers without
// a thread of their own have no engine, see sched.Config.Device. Their fibers use the other engines in turn, as
// goroutines do, see Here.
func (s *Engines) Attach(cfg *sched.Config) {
	cfg.Device = func(w *sched.Worker) (sched.Device, error) {
		e, err := s.Open(w)
		if err != nil {
			return nil, err // not a nil *Engine
		}
		return e, nil
	}
}

// Open makes an engine for w. It must be called on the thread of w. Its errors are those that Attach names.
func (s *Engines) Open(w *sched.Worker) (*Engine, error) {
	e := &Engine{set: s, worker: w}
	if err := e.init(s.options); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		e.deinit()
		return nil, errEnginesClosed
	}
	s.add(e)
	return e, nil
}

// Close has all operations return ErrClosed: those under way, and later ones that would have to wait. Engines of
// workers end with their workers. Their operations end when the worker, between two tasks, next looks for completions.
// If an engine has a separate thread, Close ends it, and waits for that: this blocks the thread of a fiber, too. Close
// may be called more than once, and by several at once. The error is always nil.
func (s *Engines) Close() error {
	s.mu.Lock()
	s.closed.Store(true)
	alone := s.alone
	for _, e := range s.engines() {
		e.stopping.Store(true)
		e.Kick()
	}
	s.mu.Unlock()
	if alone != nil {
		<-alone.ended
	}
	return nil
}

// Err returns nil or, once Close has been called, an error that wraps ErrClosed. Any thread may call it.
func (s *Engines) Err() error {
	if s.closed.Load() {
		return errEnginesClosed
	}
	return nil
}

// engines are those that have begun and not ended.
func (s *Engines) engines() []*Engine {
	if list := s.list.Load(); list != nil {
		return *list
	}
	return nil
}

// add makes e known to Here, Close and Stats. The caller holds mu, and the Engines are not closed.
func (s *Engines) add(e *Engine) {
	list := append(slices.Clone(s.engines()), e)
	s.list.Store(&list)
}

// remove undoes add. It locks mu.
func (s *Engines) remove(e *Engine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.DeleteFunc(slices.Clone(s.engines()), func(other *Engine) bool { return other == e })
	s.list.Store(&list)
}

// Here returns the engine of the caller's worker, if the caller is a fiber and s has that engine; else the next engine
// of s. If s has none, it starts one on a separate thread, and blocks its caller's thread until then. Any thread may
// call it. Errors wrap ErrClosed after Close, see also NewOfContexts, or ErrUnavailable, ErrDriver, or the kernel's.
func (s *Engines) Here() (*Engine, error) {
	if s.closed.Load() {
		return nil, errEnginesClosed
	}
	if f := sched.Current(); f != nil {
		if d, ok := f.Worker().Device().(interface{ asEngine() *Engine }); ok && d.asEngine().set == s {
			return d.asEngine(), nil
		}
	}
	if list := s.engines(); len(list) > 0 {
		return list[int(s.next.Add(1))%len(list)], nil
	}
	return s.startAlone()
}

// startAlone returns the engine on a separate thread, and starts it if need be. For contexts it fails. It locks mu.
func (s *Engines) startAlone() (*Engine, error) {
	if s.contexts {
		return nil, errNoContextRuns
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed.Load():
		return nil, errEnginesClosed
	case s.alone != nil:
		return s.alone, nil
	}
	e := &Engine{set: s, ended: make(chan struct{})}
	started := make(chan error, 1)
	go e.runAlone(started)
	if err := <-started; err != nil {
		return nil, err
	}
	s.alone = e
	s.add(e)
	return e, nil
}

// runAlone makes the caller's thread the engine's, and serves it until Close. It sends the error of init to started.
func (e *Engine) runAlone(started chan<- error) {
	defer close(e.ended)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := e.init(e.set.options)
	started <- err
	if err != nil {
		return
	}
	for e.kicked.Store(false); !e.stopping.Load(); e.kicked.Store(false) { // a Close from here on kicks it again
		e.must(e.pollSubmit(-1, false))
	}
	e.set.remove(e)
	e.must(e.drain())
	e.deinit()
}

// Options describes engines. The zero value is fine.
type Options struct {
	Driver   Driver
	Requests int // in one call of the kernel, at most; 0 or less: 256; more than 32,768: 32,768
	Buffers  int // of 2 KB, for bytes that connections have received and no caller has read; 0: 4,096; below 0: none
}

// mostRequests is how many requests the kernel takes at a time.
const mostRequests = 1 << 15

func (o Options) requests() int {
	if o.Requests <= 0 {
		return 256
	}
	return min(o.Requests, mostRequests)
}

// BufferSize is the size of one of an engine's buffers.
const BufferSize = 2 << 10

func (o Options) buffers() int {
	if o.Buffers == 0 {
		return 4096
	}
	return min(o.Buffers, 32768) // more the kernel refuses
}

// Stats is what an engine has done since it began.
type Stats struct {
	Enters    uint64 // system calls by which it submits, waits and collects
	Submitted uint64 // requests that were handed to the kernel
	Collected uint64 // completions that came back: a request may have many
	Wakes     uint64 // waits that other threads have ended
	Held      uint64 // buffers that hold what has come and has not been read, now
}

// Stats returns the counts as they were after the engine's last turn, and Held as it is now. Any thread may call it.
func (e *Engine) Stats() Stats {
	s := e.counts.load()
	if b := e.receiving.Load(); b != nil {
		s.Held = uint64(b.held.Load() - 1) // one is the ring's
	}
	return s
}

// Stats is the sum over all engines that there are now.
func (s *Engines) Stats() (sum Stats) {
	for _, e := range s.engines() {
		n := e.Stats()
		sum.Enters += n.Enters
		sum.Submitted += n.Submitted
		sum.Collected += n.Collected
		sum.Wakes += n.Wakes
		sum.Held += n.Held
	}
	return sum
}

// published is what other threads may see of a proxy's counts.
type published struct{ enters, submitted, collected, wakes atomic.Uint64 }

func (p *published) publish(s Stats) {
	p.enters.Store(s.Enters)
	p.submitted.Store(s.Submitted)
	p.collected.Store(s.Collected)
	p.wakes.Store(s.Wakes)
}

func (p *published) load() Stats {
	return Stats{p.enters.Load(), p.submitted.Load(), p.collected.Load(), p.wakes.Load(), 0}
}
