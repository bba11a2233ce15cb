package sched

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"fiberlab/fiber"
	"fiberlab/internal/clock"
)

// Defaults of Config.MaxIdle and Config.GiveUpAfter, and of Config.Watchdog for Run.
const (
	DefaultMaxIdle     = 1024
	DefaultGiveUpAfter = time.Second
	DefaultWatchdog    = 5 * time.Second
)

// forever is a limit that is never reached.
const forever = time.Duration(clock.Never / 2)

// Config describes a scheduler. The zero value is one without multi-threaded workers: it runs tasks on the goroutines
// that bind it.
type Config struct {
	// for reports, and for threads that workers keep: "NAME-w0", or "NAME-g0w0" in several groups; default "scheduler"
	Name      string
	Workers   int           // multi-threaded workers, each with a thread; see KeepThreads. 0 is allowed
	Policy    Policy        // where tasks and ready fibers are queued, and what runs next
	Groups    Groups        // how policy Group lays out the workers
	Backend   fiber.Backend // what switches the fibers
	StackSize int           // bytes of C stack a fiber; see fiber.Config. A worker's main fiber has its thread's
	MaxIdle   int           // idle fibers that a worker keeps; 0 means DefaultMaxIdle
	MaxCalls  int           // blocking calls of tasks that run at once, each on a thread; 0: any number
	// tasks that may wait to begin, in all queues together; 0: any number, or DefaultRunQueue under policy Group. See
	// Enqueue and TryEnqueue. A callback of fibersync, and a helper of its forks, is queued even without room
	MaxQueued int
	Affinity  Affinity // the CPUs of each multi-threaded worker; nil leaves them alone

	// OverloadAfter is how long a caller waits at most for room, while MaxQueued tasks wait to begin; then it gets
	// ErrOverload. 0 is no limit.
	OverloadAfter time.Duration

	// KeepThreads has each multi-threaded worker keep its thread for all its life. Otherwise a worker that sleeps may
	// leave its thread to other goroutines. They wake it sooner then, and it may continue on another thread. A worker
	// keeps its thread if Affinity, Initializer or Device is set, and once it has had a SameThread task. Under
	// Stealing, it also does so while one of its tasks is blocked. On the goroutine backend, a worker always keeps its
	// thread under Stealing, and has none under the other policies.
	KeepThreads bool

	GuardPages int // pages below each C stack that cannot be touched; see fiber.Config

	// Initializer runs on each multi-threaded worker's thread, after Device and before tasks, with the worker's number.
	// All workers call it at the same time. It may schedule tasks, and wait, as a task does; Get returns the scheduler.
	Initializer func(worker int)

	// Device makes the device that a multi-threaded worker sleeps in, and polls. If Device is nil, or returns nil, the
	// worker has none. It is called on the worker's thread before Initializer, and must not wait as a fiber does. New
	// returns its error. It is not called for a worker that is not locked to a thread. On the goroutine backend, that
	// is each worker under a policy that lets fibers migrate.
	Device func(w *Worker) (Device, error)

	// Panicked is called on the fiber whose task has panicked, after the task's deferred functions, with the value and
	// the task's stack; the worker then goes on. If it panics or calls Goexit itself, the program ends. If it is nil, a
	// panic ends the program with the task's stack.
	Panicked func(value any, stack []byte)

	// Exhausted is called on a worker's thread when the worker needs a fiber, to go on if its next task blocks, and can
	// make none: no memory is left, say. It is called once for each such shortage, and must not block or panic.
	// The worker begins no task then, tries again every millisecond, and runs fibers that are ready. Other workers may
	// take its tasks, but not SameThread ones. If Exhausted is nil, one line goes to stderr, once.
	Exhausted func(error)

	// GiveUpAfter is how long Close and Unbind see nothing happen in the scheduler before they report a deadlock; 0
	// means DefaultGiveUpAfter; less than 0: they report none. Choose it longer than a goroutine outside may take to
	// notify a fiber.
	GiveUpAfter time.Duration

	// Watchdog, if more than 0, is how long a deadlock lasts before Deadlocked is called, even without Close. In a
	// deadlock nothing runs: fibers are blocked and only a thread outside could notify them, or tasks cannot begin.
	// Deadlocked is called once for each deadlock, on a separate goroutine, and may do what a goroutine may. Nothing
	// else is reported until it has returned. If it is nil, the report goes to stderr.
	//
	// If Watchdog is 0, Run watches its function, and reports after DefaultWatchdog. It reports no deadlock as long as
	// a fiber has a deadline, or a goroutine of the program could still wake one. It does not see timers of package
	// time (time.AfterFunc) and threads of C. If only these wake fibers, set Watchdog to -1: there is no watchdog then.
	Watchdog   time.Duration
	Deadlocked func(*Deadlock)

	// Stalled is called by the same watchdog, in the same way, for each worker that is stalled. Such a worker has been
	// in one task for as long as a deadlock must last, and a second at least, while fibers or tasks wait for it. The
	// task is in a Go call that blocks its thread, such as a receive from a channel.
	Stalled func(*Stall)

	// Recorder, if not nil, is told of every transition of every fiber. trace.NewRecorder returns a Recorder that keeps
	// them. A Recorder may serve one scheduler only.
	Recorder Recorder
}

// Affinity returns the CPUs that the thread of a multi-threaded worker may run on. New calls it once for each worker.
type Affinity func(worker int) []int

// AllCores is a Config with runtime.GOMAXPROCS(0) workers: as many as there are threads that run Go code at once.
func AllCores() Config { return Config{Workers: runtime.GOMAXPROCS(0)} }

// checked returns cfg with its defaults filled in, or says what is wrong with it.
func (cfg Config) checked() (Config, error) {
	for _, count := range []struct {
		name string
		n    int
	}{
		{"Config.Workers", cfg.Workers}, {"Config.MaxIdle", cfg.MaxIdle},
		{"Config.MaxCalls", cfg.MaxCalls}, {"Config.MaxQueued", cfg.MaxQueued},
	} {
		if count.n < 0 {
			return cfg, fmt.Errorf("%s is %d: %w", count.name, count.n, ErrNegative)
		}
	}
	if cfg.Workers > MaxWorkers {
		return cfg, fmt.Errorf("Config.Workers is %d: %w", cfg.Workers, ErrWorkers)
	}
	if cfg.OverloadAfter < 0 {
		return cfg, fmt.Errorf("Config.OverloadAfter is %v: %w", cfg.OverloadAfter, ErrNegative)
	}
	if int(cfg.Policy) >= len(policyNames) {
		return cfg, fmt.Errorf("Config.Policy is %v: %w", cfg.Policy, noSuch("policy", policyNames[:]))
	}
	var err error
	if cfg.Groups, err = cfg.Groups.checked(); err != nil {
		return cfg, err
	}
	if cfg.MaxQueued == 0 && cfg.Policy == Group {
		cfg.MaxQueued = DefaultRunQueue
	}
	if cfg.Backend, err = cfg.Backend.Resolve(); err != nil {
		return cfg, err
	}
	fibers := fiber.Config{Backend: cfg.Backend, StackSize: cfg.StackSize, GuardPages: cfg.GuardPages}
	if err := fibers.Check(); err != nil {
		return cfg, err
	}
	if cfg.Affinity != nil && cfg.Policy.migrates() && cfg.Backend == fiber.Goroutine {
		return cfg, fmt.Errorf(
			"Config.Affinity: %w: workers keep no threads on the goroutine backend under %v: leave it out, or choose "+
				"another backend or policy",
			ErrAffinity, cfg.Policy,
		)
	}
	cfg.Name = cmp.Or(cfg.Name, "scheduler")
	cfg.MaxIdle = cmp.Or(cfg.MaxIdle, DefaultMaxIdle)
	cfg.GiveUpAfter = cmp.Or(cfg.GiveUpAfter, DefaultGiveUpAfter)
	if cfg.GiveUpAfter < 0 {
		cfg.GiveUpAfter = forever
	}
	if cfg.Deadlocked == nil {
		cfg.Deadlocked = func(d *Deadlock) { fmt.Fprintln(os.Stderr, d) }
	}
	if cfg.Stalled == nil {
		cfg.Stalled = func(s *Stall) { fmt.Fprintln(os.Stderr, s) }
	}
	if cfg.Exhausted == nil {
		var once sync.Once
		cfg.Exhausted = func(err error) { once.Do(func() { fmt.Fprintln(os.Stderr, "fiberlab:", err) }) }
	}
	return cfg, nil
}
