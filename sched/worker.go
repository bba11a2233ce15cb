package sched

import (
	"errors"
	"fmt"
	"runtime"
	stackdump "runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"fiberlab/fiber"
	"fiberlab/internal/clock"
	"fiberlab/internal/idle"
	"fiberlab/sched/park"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"
)

// mode is how a worker comes by its thread.
type mode uint8

const (
	// multiThreaded workers have their own thread, made with the scheduler.
	multiThreaded mode = iota
	// singleThreaded workers borrow the thread of the goroutine that called Bind.
	// They run tasks only while that goroutine waits or unbinds.
	singleThreaded
)

// Worker runs tasks on one thread, on one fiber after the other: when a task
// blocks, its fiber keeps it, and another fiber carries the worker on. While it is idle it may give the thread up; see
// Config.KeepThreads.
type Worker struct {
	id        int
	name      string
	mode      mode
	cpus      []int  // that its thread is restricted to, if there is a Config.Affinity
	goroutine string // that is bound as the worker, as dumps name it
	scheduler *Scheduler
	record    WorkerRecorder // of what its fibers do; nil: off
	word      *idle.Word
	keeps     bool          // keepsThread
	threaded  bool          // hasThread
	timers    *groupTimers  // of fibers that it shares with other workers
	arena     *park.Arena   // where tasks of its fibers start others
	seek      func() bool   // the policy's seek, while the worker spins
	done      chan struct{} // closed when a multi-threaded worker's thread is through

	_       [2]cpu.CacheLinePad
	mailbox mailbox // others write it
	// Fiber.self of the fiber that the worker runs; deliver must not find a fiber there that may run elsewhere
	running atomic.Uint64
	_       [2]cpu.CacheLinePad

	local local // for the worker's thread alone
	counts

	device atomic.Pointer[Device] // what Config.Device has made, for others

	// Others may read these, and write the last three.
	shortage     atomic.Pointer[error] // why the worker is short; nil: it is not
	nextDeadline atomic.Int64          // deadline when the worker last slept; a clock.Instant
	shutdown     atomic.Bool           // run until there is nothing left, then end
	stuck        atomic.Pointer[Deadlock]
	check        atomic.Pointer[check] // to be answered when there is nothing to run
}

// exists reports whether the worker is a scheduler's.
func (w *Worker) exists() bool { return w != nil && w.scheduler != nil }

// ID returns the worker's number: multi-threaded ones from 0, bound goroutines after them; -1 if w is none of a
// scheduler's.
func (w *Worker) ID() int {
	if !w.exists() {
		return -1
	}
	return w.id
}

// String names the worker and its scheduler.
func (w *Worker) String() string {
	if !w.exists() {
		return "no worker"
	}
	return w.name
}

func newWorker(s *Scheduler, id int, mode mode) *Worker {
	w := &Worker{
		id:        id,
		name:      fmt.Sprintf("%s worker %d", s.cfg.Name, id),
		mode:      mode,
		scheduler: s,
		word:      idle.New(fiber.Locked),
		timers:    noTimers,
		done:      make(chan struct{}),
	}
	if r := s.cfg.Recorder; r != nil {
		w.record = r.Worker(id)
	}
	w.threaded = w.hasThread()
	w.keeps = w.keepsThread()
	w.seek = func() bool { return s.policy.seek(w, false) }
	w.nextDeadline.Store(int64(clock.Never))
	if s.room != nil {
		w.places = s.room.AddDesk()
	}
	return w
}

// begin makes root, the calling goroutine, the main and current fiber.
func (w *Worker) begin(root *fiber.Fiber) {
	f := &Fiber{fiber: root, maker: w, home: w, record: w.record, residue: fiber.ResidueHere()}
	f.word.Store(uint64(Running))
	f.worker.Store(w)
	f.self.Store(uint64(fiber.Self()))
	f.message.fiber = f
	f.task = root.Task()
	root.SetName(f.String())
	root.SetValue((*parker)(f))
	w.local.main, w.local.current = f, f
	w.times.enter(phaseBusy)
	w.scheduler.fibers.add(f)
}

// detach makes the calling goroutine, whose fiber is the main one, a plain one again.
func (w *Worker) detach() error {
	f := w.local.main
	if err := f.fiber.Detach(); err != nil {
		return err
	}
	f.self.Store(0)
	w.running.Store(0)
	return nil
}

// thread is the life of a multi-threaded worker. It sends one error or nil to started, which
// must have room for it, when the worker is ready to run tasks or cannot be. In the end
// it closes done.
func (w *Worker) thread(started chan<- error) {
	if w.threaded {
		// Once more than the root will be: so the coroutines of its tasks are told from other goroutines.
		runtime.LockOSThread()
	}
	// It stays locked: a thread that was changed for a worker ends with it. The process's first one cannot end, and its
	// name is the process's.
	if w.keeps && onFirstThread() {
		elsewhere(func() { w.thread(started) })
		return
	}
	root, err := w.prepare()
	if err != nil {
		started <- err
		close(w.done)
		return
	}
	w.begin(root)
	w.initialize(func(err error) {
		started <- err
		w.runMain()
		w.endFibers()
		if err := w.closeDevice(); err != nil {
			panic(err)
		}
		if err := w.detach(); err != nil {
			panic(err)
		}
		if w.threaded && !w.keeps {
			runtime.UnlockOSThread()
		}
		// Not deferred: a task's panic must not let Close return before it ends the program.
		close(w.done)
	})
}

// runMain is what the main fiber of a multi-threaded worker does. It returns when the worker is finished.
func (w *Worker) runMain() {
	if w.scheduler.migration != nil {
		w.dispatch()
	} else {
		w.local.main.run()
	}
}

// sharesFibers reports whether the worker runs fibers that may migrate.
func (w *Worker) sharesFibers() bool {
	return w.mode == multiThreaded && w.scheduler.migration != nil
}

// isDone reports whether the thread of a multi-threaded worker is through.
func (w *Worker) isDone() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// prepare makes the calling thread fit for the worker.
func (w *Worker) prepare() (*fiber.Fiber, error) {
	cfg := &w.scheduler.cfg
	if !w.keeps {
		return fiber.Attach(cfg.Backend)
	}
	group := -1
	if w.scheduler.Groups() > 1 {
		group = w.Group()
	}
	nameThread(threadName(cfg.Name, group, w.id))
	if cfg.Affinity != nil {
		if err := restrictTo(w.id, w.cpus); err != nil {
			return nil, err
		}
	}
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, timerSlack, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("timer slack of %s: %w", w.name, err)
	}
	return fiber.Attach(cfg.Backend)
}

// initialize opens the device, calls the initializer, and then proceed: with an error if the device could not be
// opened, or one of the two has called Goexit, which cannot be stopped, and does what is left to do on its way out.
func (w *Worker) initialize(proceed func(error)) {
	what, returned := "device", false
	defer func() {
		if returned {
			return
		}
		if value := recover(); value != nil {
			panic(value)
		}
		proceed(fmt.Errorf("the %s of %s: %w", what, w.name, ErrGoexit))
	}()
	if err := w.openDevice(); err != nil {
		returned = true
		proceed(err)
		return
	}
	what = "initializer"
	if initializer := w.scheduler.cfg.Initializer; initializer != nil {
		initializer(w.id)
	}
	w.local.main.local, w.local.main.hook = nil, nil
	w.local.main.residue.Clear()
	returned = true
	proceed(nil)
}

// longestThreadName is how many bytes the kernel keeps of a thread's name.
const longestThreadName = 15

// threadName is the name of a worker's thread: the scheduler's name, cut so that the numbers of its scheduling group
// and of the worker fit. A group below 0 is left out.
func threadName(scheduler string, group, worker int) string {
	suffix := fmt.Sprintf("-w%d", worker)
	if group >= 0 {
		suffix = fmt.Sprintf("-g%dw%d", group, worker)
	}
	most := min(len(scheduler), max(longestThreadName-len(suffix), 0))
	return strings.ToValidUTF8(scheduler[:most], "") + suffix
}

// nameThread gives the calling thread a name, which debuggers, top and /proc show. If the kernel
// refuses, the thread keeps its present one.
func nameThread(name string) {
	var text [longestThreadName + 1]byte // ends with 0
	copy(text[:longestThreadName], name)
	_, _, _ = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_NAME, uintptr(unsafe.Pointer(&text)), 0)
}

// onFirstThread reports whether the caller is on the thread that the process began with.
func onFirstThread() bool { return unix.Gettid() == unix.Getpid() }

// elsewhere starts f on a goroutine that is locked to another thread than the caller's, which
// must be locked to its own, and unlocks the caller once that is certain.
func elsewhere(f func()) {
	locked := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		close(locked)
		f()
	}()
	<-locked
	runtime.UnlockOSThread()
}

// Affinity gives each multi-threaded worker, by its number, the
// CPUs that its thread may run on.
type Affinity func(worker int) []int

// AnyOf lets every worker run on any of the CPUs.
func AnyOf(cpus ...int) Affinity {
	cpus = slices.Clone(cpus)
	return func(int) []int { return cpus }
}

// OneOf ties each worker to one of the CPUs, in turn.
func OneOf(cpus ...int) Affinity {
	cpus = slices.Clone(cpus)
	return func(worker int) []int {
		if len(cpus) == 0 {
			return nil
		}
		return cpus[worker%len(cpus) : worker%len(cpus)+1]
	}
}

// PerGroup gives each scheduling group one of the affinities, in turn, which is asked for the worker's number in the
// group. AnyOf lets the workers of a group share some CPUs, OneOf gives each worker one of them. size is how many
// workers a group has: set Groups.Size to the same.
func PerGroup(size int, affinities ...Affinity) Affinity {
	affinities = slices.Clone(affinities)
	return func(worker int) []int {
		if size < 1 || len(affinities) == 0 {
			return nil
		}
		affinity := affinities[worker/size%len(affinities)]
		if affinity == nil {
			return nil
		}
		return affinity(worker % size)
	}
}

// maxCPUs is how many CPUs a unix.CPUSet can name.
const maxCPUs = len(unix.CPUSet{}) * 64

// restrictTo restricts the calling thread, which is that worker's, to those CPUs.
func restrictTo(worker int, cpus []int) error {
	if len(cpus) == 0 {
		return fmt.Errorf("%w: worker %d is given no CPU: name one at least", ErrAffinity, worker)
	}
	var set unix.CPUSet
	for _, cpu := range cpus {
		if cpu < 0 || cpu >= maxCPUs {
			return fmt.Errorf(
				"%w: worker %d is given CPU %d: the kernel numbers them from 0 to %d at most", ErrAffinity, worker, cpu,
				maxCPUs-1,
			)
		}
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf(
			"%w: worker %d on CPUs %v: %w: use CPUs that are online and allowed to this process", ErrAffinity, worker,
			cpus, err,
		)
	}
	return nil
}

// mailbox is where other threads leave word for a worker: a fiber of it that is ready, or a task that
// it alone may begin. It is a lock-free list. Any thread may put a message in front of it, and the worker
// takes the whole list; so no message is ever taken out of the middle, and none is lost.
type mailbox struct {
	head atomic.Pointer[message] // the latest
	// how many messages have tasks, and a moment longer: messages that are about to be put or are being read count too
	tasks atomic.Int64
}

// message is one entry of a mailbox.
type message struct {
	next  *message // the one before it
	fiber *Fiber   // ready; or nil
	task  job      // to begin, if there is no fiber
}

// closed stands in a mailbox that takes no more tasks.
var closed = new(message)

// putTask is put of a task.
func (m *mailbox) putTask(t job) bool {
	m.tasks.Add(1)
	if m.put(&message{task: t}) {
		return true
	}
	m.tasks.Add(-1)
	return false
}

// put leaves a message, which the sender must not touch again. It returns false if it takes no more tasks. A fiber
// that is ready always finds room. The worker has to be woken afterwards. It does not block.
func (m *mailbox) put(l *message) bool {
	for {
		head := m.head.Load()
		l.next = head
		if head == closed {
			if l.fiber == nil {
				return false
			}
			l.next = nil
		}
		if m.head.CompareAndSwap(head, l) {
			return true
		}
	}
}

// empty reports whether there is no message.
func (m *mailbox) empty() bool {
	head := m.head.Load()
	return head == nil || head == closed
}

// take returns all messages, the oldest first, linked by next. Only the worker may call it.
func (m *mailbox) take() *message {
	if m.empty() {
		return nil
	}
	var oldest *message
	for l := m.head.Swap(nil); l != nil; {
		l, l.next, oldest = l.next, oldest, l
	}
	return oldest
}

// close makes put refuse tasks from now on, unless there are messages. It reports whether it did.
func (m *mailbox) close() bool {
	return m.head.CompareAndSwap(nil, closed) || m.head.Load() == closed
}

// reopen takes close back.
func (m *mailbox) reopen() { m.head.CompareAndSwap(closed, nil) }

// mustReturn calls call, which the program has given and where calls it. If it panics, or calls Goexit, the program
// ends: the frames below it must not be unwound.
func mustReturn(name string, where fmt.Stringer, call func()) {
	returned := false
	defer func() {
		if returned {
			return
		}
		cause := recover()
		if cause == nil {
			cause = ErrGoexit
		}
		text := fmt.Sprintf("%s on %v: %v\n\n%s", name, where, cause, stackdump.Stack())
		go panic(text)
		select {}
	}()
	call()
	returned = true
}

// stays is for f, which could not give the thread away because of err.
func (w *Worker) stays(f *Fiber, err error) {
	if !errors.Is(err, fiber.ErrLocked) {
		panic(fmt.Sprintf("sched: %v cannot hand its thread to %v: %v", f, w.local.current, err))
	}
	w.keepThread(f, err)
}

// keepThread is for f, which is blocked or has yielded, but cannot leave its thread because of err: on the
// goroutine backend, a task in a callback from C. Its worker goes on with nothing else until
// f is Queued. What was to run in its place is put back. The clock is looked at every millisecond, since
// the worker would be woken for other things as well.
func (w *Worker) keepThread(f *Fiber, err error) {
	o := &w.local
	o.left = nil
	if to := o.current; to.load().state() == Idle {
		w.pushIdle(to)
	} else if to.home != nil {
		o.ready.Push(to)
	} else {
		w.scheduler.migration.ready(to, nil)
	}
	o.current = f
	for told := false; ; told = true {
		w.poll()
		if w.removeReady(f) || f.home == nil && (f.queueIfNotified() || f.load().state() == Queued) {
			break
		}
		if !told {
			w.scheduler.cfg.Exhausted(fmt.Errorf("%s does nothing else while a task waits: %w", w.name, err))
		}
		time.Sleep(retryPause)
	}
}

// removeReady takes f out of the fibers that are ready, and reports whether it was among them. Its state does not tell:
// a thread that has made it Queued puts it into the mailbox only then.
func (w *Worker) removeReady(f *Fiber) (removed bool) {
	o := &w.local
	for range o.ready.Len() {
		if g := o.ready.Pop(); g != f {
			o.ready.Push(g)
		} else {
			removed = true
		}
	}
	return removed
}
