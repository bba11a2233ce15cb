package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/uring"
)

// Setup says who does the work. The zero value is goroutines with package os.
type Setup struct {
	// Engines, if not nil, are the engines by which the files are read and written, and Scheduler, which must have workers, runs the fibers that use them.
	Engines   *uring.Options
	Scheduler sched.Config

	Tasks int // fibers or goroutines that work at the same time, each on one file; 0 or less: 64
}

// mostTasks is how many fibers or goroutines work, unless Setup says otherwise.
const mostTasks = 64

// Figures are what the work has cost.
type Figures struct {
	Driver  string         `json:"driver"`            // go, or what uring.ParseDriver takes
	Workers int            `json:"workers,omitempty"` // Setup.Scheduler.Workers; 0: driver go
	Tasks   int            `json:"tasks"`
	Seconds float64        `json:"seconds"`           // from when it is known what is to be done
	Engines *EngineFigures `json:"engines,omitempty"` // nil: driver go
}

// EngineFigures are what the engines did, see uring.Stats.
type EngineFigures struct {
	Enters    uint64 `json:"enters"`    // system calls by which they submit, wait and collect
	Submitted uint64 `json:"submitted"` // requests that were handed to the kernel
	Completed uint64 `json:"completed"` // Stats.Collected: completions that came back
	Wakes     uint64 `json:"wakes"`     // waits that other threads have ended
}

// file is what *os.File and *uring.File have in common, of what is used here.
type file interface {
	io.ReadWriteCloser
	Stat() (fs.FileInfo, error)
	Sync() error
}

// crew is the tasks that work, and the way in which they use files.
type crew struct {
	tasks    int
	open     func(ctx context.Context, name string, flag int, perm fs.FileMode) (file, error)
	readFile func(ctx context.Context, name string) ([]byte, error)
	start    func(f func()) error
	figures  Figures
	end      func() error
}

// crew makes the crew. Its end must be called.
func (s Setup) crew() (*crew, error) {
	c := &crew{tasks: s.Tasks, end: func() error { return nil }}
	if c.tasks <= 0 {
		c.tasks = mostTasks
	}
	if s.Engines == nil {
		c.figures = Figures{Driver: "go", Tasks: c.tasks}
		c.open = func(_ context.Context, name string, flag int, perm fs.FileMode) (file, error) {
			f, err := os.OpenFile(name, flag, perm)
			if err != nil {
				return nil, err // not a nil *os.File
			}
			return f, nil
		}
		c.readFile = func(_ context.Context, name string) ([]byte, error) { return os.ReadFile(name) }
		c.start = func(f func()) error {
			go f()
			return nil
		}
		return c, nil
	}
	driver := s.Engines.Driver
	if driver == uring.Auto {
		driver = uring.Probe().Driver
	}
	engines := uring.New(*s.Engines)
	cfg := s.Scheduler
	engines.Attach(&cfg)
	scheduler, err := sched.New(cfg)
	if err != nil {
		return nil, errors.Join(err, engines.Close())
	}
	c.figures = Figures{Driver: driver.String(), Workers: cfg.Workers, Tasks: c.tasks}
	c.open = func(ctx context.Context, name string, flag int, perm fs.FileMode) (file, error) {
		f, err := engines.OpenFile(ctx, name, flag, perm)
		if err != nil {
			return nil, err // not a nil *uring.File
		}
		return f, nil
	}
	c.readFile, c.start = engines.ReadFile, scheduler.Go
	c.end = func() error {
		stats := engines.Stats()
		c.figures.Engines = &EngineFigures{stats.Enters, stats.Submitted, stats.Collected, stats.Wakes}
		return errors.Join(scheduler.Close(), engines.Close())
	}
	return c, nil
}

// run has at most so many tasks call what newWork returns, each its own, until that returns false or ctx is done. It waits for them. The error is
// context.Cause(ctx), or that of the scheduler.
func (c *crew) run(ctx context.Context, most int, newWork func() (work func() bool)) error {
	var all sync.WaitGroup
	defer all.Wait()
	for range min(c.tasks, most) {
		all.Add(1)
		err := c.start(func() {
			defer all.Done()
			for work := newWork(); ctx.Err() == nil && work(); {
			}
		})
		if err != nil {
			all.Done()
			return err
		}
	}
	all.Wait()
	return context.Cause(ctx)
}

// calling calls f, which may wait for a disk. A fiber leaves it to a goroutine.
func calling(f func() error) error {
	_, err := fibersync.Call(func() (struct{}, error) { return struct{}{}, f() })
	return err
}
