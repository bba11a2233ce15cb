package uring_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/uring"
	"fiberlab/sched/uring/dispatch"
	"fiberlab/sched/uring/fiberio"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/suite"
)

// hang is after how long a test takes it that something has been missed.
const hang = time.Minute

// eachContext runs test for contexts on fibers of each kind, over both drivers.
func eachContext(t *testing.T, test func(t *testing.T, options dispatch.Options)) {
	suite.Over{Workers: []int{1}, Only: suite.HasThreads}.Run(t, func(t *testing.T, cfg sched.Config) {
		eachDriver(t, func(t *testing.T, driver uring.Driver) {
			test(t, dispatch.Options{
				Engine: uring.Options{Driver: driver},
				Fibers: sched.Config{Backend: cfg.Backend, Policy: cfg.Policy},
			})
		})
	})
}

func start(t *testing.T, c *dispatch.Context) {
	t.Helper()
	require.NoError(t, c.Start())
}

// inTime calls f, and fails the test if it does not return.
func inTime(t *testing.T, what string, f func() error) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(hang):
		t.Fatal(what + " does not return")
	}
}

func join(t *testing.T, c *dispatch.Context) {
	t.Helper()
	inTime(t, "Join", c.Join)
}

func loop(t *testing.T, s *dispatch.Scheduler) {
	t.Helper()
	inTime(t, "Loop", s.Loop)
}

// must panics with err, which ends the test program: tasks cannot fail tests.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// submit gives c a task.
func submit(c interface{ Submit(dispatch.TopLevel) error }, f func()) {
	must(c.Submit(dispatch.TopLevel{Run: f}))
}

// receive takes the next of what tasks tell, and fails the test if there is none.
func receive[T any](t *testing.T, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(hang):
		t.Fatal("a task has not run")
	}
	return v
}

// read reads a byte, by the engine of the caller.
func read(engines *uring.Engines, fd int) byte {
	b := make([]byte, 1)
	_, err := receiveBy(here(engines), fd, b)
	must(err)
	return b[0]
}

// Submit, start, join, and start again. Nothing is left behind, which each sub-test checks.
func TestContextStartsAgain(t *testing.T) {
	eachContext(t, func(t *testing.T, options dispatch.Options) {
		c := dispatch.NewContext(options)
		require.NoError(t, c.Join(), "it has never been started")
		starts := 40 // times at least five configurations
		if testing.Short() {
			starts = 4
		}
		for range starts {
			ran := 0
			for range 10 {
				submit(c, func() { ran++ })
			}
			start(t, c)
			join(t, c)
			require.Equal(t, 10, ran)
			join(t, c)
		}
		start(t, c)
		join(t, c) // without tasks, too
	})
}

// A task that waits for input is suspended, as a fiber is that waits for anything: the context runs the task that
// brings it.
func TestTaskIsSuspended(t *testing.T) {
	eachContext(t, func(t *testing.T, options dispatch.Options) {
		in, out := pipe(t)
		c := dispatch.NewContext(options)
		var order []string
		var reader *sched.Fiber
		submit(c, func() {
			reader = sched.Current()
			order = append(order, "reads")
			order = append(order, fmt.Sprint("has read ", read(c.Engines(), in)))
		})
		submit(c, func() {
			order = append(order, "writes", reader.State().String())
			_, err := sendBy(here(c.Engines()), out, []byte{7})
			must(err)
		})
		start(t, c)
		join(t, c)
		require.Equal(t, []string{"reads", "writes", sched.Yielded.String(), "has read 7"}, order)
	})
}

// As long as anything is suspended, though no input or output is under way, the context does not stop itself: it takes
// tasks.
func TestSuspendedTasksKeepTheContext(t *testing.T) {
	for name, suspend := range map[string]func(l *fibersync.Latch){
		"task":    func(l *fibersync.Latch) { l.Wait() },
		"started": func(l *fibersync.Latch) { must(sched.Schedule(l.Wait)) },
		"asleep": func(l *fibersync.Latch) {
			for !l.Open() {
				sched.Sleep(time.Millisecond)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachContext(t, func(t *testing.T, options dispatch.Options) {
				c := dispatch.NewContext(options)
				open := fibersync.NewLatch(1)
				submit(c, func() { suspend(open) })
				start(t, c)
				ran := make(chan bool, 1)
				for range 20 {
					submit(c, func() { ran <- true })
					receive(t, ran)
					time.Sleep(100 * time.Microsecond)
				}
				submit(c, open.CountDown)
				join(t, c)
			})
		})
	}
}

// What goroutines do by the context's engine keeps it, too.
func TestRequestsKeepTheContext(t *testing.T) {
	eachContext(t, func(t *testing.T, options dispatch.Options) {
		in, out := pipe(t)
		c := dispatch.NewContext(options)
		open := fibersync.NewLatch(1)
		submit(c, open.Wait)
		start(t, c)
		e := here(c.Engines())
		got := make(chan byte, 1)
		go func() { got <- read(c.Engines(), in) }()
		for e.Pending() == 0 {
			runtime.Gosched()
		}
		open.CountDown()
		ran := make(chan bool, 1)
		for range 20 {
			submit(c, func() { ran <- true })
			receive(t, ran)
			time.Sleep(100 * time.Microsecond)
		}
		_, err := unix.Write(out, []byte{9})
		require.NoError(t, err)
		require.EqualValues(t, 9, receive(t, got))
		join(t, c)
	})
}

// When a goroutine gives up the last operation, the context stops, though no completion tells it of that.
func TestContextStopsAfterTheLastWait(t *testing.T) {
	eachContext(t, func(t *testing.T, options dispatch.Options) {
		c := dispatch.NewContext(options)
		open := fibersync.NewLatch(1)
		listening := make(chan *fiberio.Listener, 1)
		submit(c, func() {
			l, err := fiberio.Listen(t.Context(), c.Engines(), "tcp", "127.0.0.1:0")
			must(err)
			listening <- l
			open.Wait()
		})
		start(t, c)
		e, l := here(c.Engines()), receive(t, listening)
		defer l.Close()
		accepted := make(chan error, 1)
		go func() {
			_, err := l.Accept()
			accepted <- err
		}()
		for e.Pending() == 0 {
			runtime.Gosched()
		}
		open.CountDown()
		time.Sleep(time.Millisecond) // it sleeps
		require.NoError(t, l.SetDeadline(time.Unix(1, 0)))
		require.ErrorIs(t, receive(t, accepted), os.ErrDeadlineExceeded)
		join(t, c)
	})
}

// A full queue makes submitters wait: goroutines, fibers of another scheduler, and tasks of the context, which block
// their fibers and not its thread. Nothing is lost, and nothing runs inside of Submit.
func TestFullQueueMakesSubmittersWait(t *testing.T) {
	eachContext(t, func(t *testing.T, options dispatch.Options) {
		options.Tasks = 4
		const each = 50
		c := dispatch.NewContext(options)
		start(t, c) // or there is no such driver
		join(t, c)
		running, ran := false, 0
		task := func() {
			if running {
				panic("a task runs inside of another one")
			}
			running = true
			ran++
			_ = c.TrySubmit(dispatch.TopLevel{})
			running = false
		}
		submitMany := func() {
			for range each {
				submit(c, task)
			}
		}
		done := fibersync.NewLatch(3)
		submit(c, func() {
			submitMany()
			done.CountDown()
			done.Wait() // it would stop, and take no tasks, if the others were slow
		})
		for range options.Tasks - 1 {
			require.NoError(t, c.TrySubmit(dispatch.TopLevel{Run: task}))
		}
		require.ErrorIs(t, c.TrySubmit(dispatch.TopLevel{Run: task}), dispatch.ErrFull)
		go func() {
			submitMany()
			done.CountDown()
		}()
		other, err := sched.New(
			sched.Config{Workers: 1, Backend: options.Fibers.Backend, GiveUpAfter: time.Millisecond},
		)
		require.NoError(t, err)
		otherRan := make(chan bool, 1)
		require.NoError(t, other.Go(func() {
			submitMany()
			done.CountDown()
		}))
		require.NoError(t, other.Go(func() { otherRan <- true }))
		receive(t, otherRan)
		closed := make(chan error, 1)
		go func() { closed <- other.Close() }()
		time.Sleep(5 * time.Millisecond) // its limit passes
		start(t, c)
		require.NoError(t, receive(t, closed), "to wait for room is no deadlock")
		join(t, c)
		require.Zero(t, c.Pending())
		require.Equal(t, options.Tasks-1+3*each, ran)
	})
}

// A submitter that waits for room gives up when its context is done, and takes no room from those behind it. So does a
// caller of JoinContext.
func TestSubmittersGiveUp(t *testing.T) {
	eachContext(t, func(t *testing.T, options dispatch.Options) {
		options.Tasks = 1
		c := dispatch.NewContext(options)
		var ran []int
		task := func(n int) dispatch.TopLevel { return dispatch.TopLevel{Run: func() { ran = append(ran, n) }} }
		open := fibersync.NewLatch(1)
		submit(c, func() {
			ran = append(ran, 0)
			open.Wait()
		})
		cause := errors.New("the audience has left")
		ctx, cancel := context.WithCancelCause(t.Context())
		gaveUp, submitted := make(chan error, 1), make(chan error, 1)
		go func() { gaveUp <- c.SubmitContext(ctx, task(1)) }()
		time.Sleep(time.Millisecond) // the first in the queue; if not, it is refused anyway
		go func() { submitted <- c.Submit(task(2)) }()
		time.Sleep(time.Millisecond)
		cancel(cause)
		require.ErrorIs(t, receive(t, gaveUp), cause)
		start(t, c)
		require.NoError(t, receive(t, submitted))
		require.ErrorIs(t, c.JoinContext(ctx), cause)
		open.CountDown()
		join(t, c)
		require.Equal(t, []int{0, 2}, ran)
		var none context.Context
		require.ErrorIs(t, c.SubmitContext(none, task(3)), sched.ErrNilContext)
		require.ErrorIs(t, c.JoinContext(none), sched.ErrNilContext)
	})
}

// A submission that was refused leaves nothing behind: neither the task nor the caller's place in the line for room.
func TestRefusedSubmissionsAreForgotten(t *testing.T) {
	c := dispatch.NewContext(dispatch.Options{Tasks: 1})
	submit(c, func() {})
	s, err := dispatch.NewScheduler(1, dispatch.Options{Tasks: 1})
	require.NoError(t, err)
	submit(s, func() {})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	memory := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := memory()
	for range 10_000 {
		large := make([]byte, 1<<10)
		task := dispatch.TopLevel{Run: func() { large[0]++ }}
		require.ErrorIs(t, c.SubmitContext(ctx, task), context.Canceled)
		require.ErrorIs(t, c.TrySubmit(task), dispatch.ErrFull)
		require.ErrorIs(t, s.SubmitContext(ctx, task), context.Canceled)
	}
	after := memory()
	require.Less(t, after, before+4<<20)
	start(t, c)
	join(t, c)
	loop(t, s)
}

func TestMisuse(t *testing.T) {
	eachContext(t, func(t *testing.T, options dispatch.Options) {
		c := dispatch.NewContext(options)
		require.ErrorIs(t, c.Submit(dispatch.TopLevel{}), dispatch.ErrNilTask)
		require.ErrorIs(t, c.TrySubmit(dispatch.TopLevel{}), dispatch.ErrNilTask)
		_, err := c.Engines().Here()
		require.ErrorIs(t, err, uring.ErrClosed, "it does not run")
		joined, open := make(chan error, 1), fibersync.NewLatch(1)
		submit(c, func() {
			joined <- c.Join()
			open.Wait()
		})
		start(t, c)
		require.ErrorIs(t, c.Start(), dispatch.ErrStarted)
		require.ErrorIs(t, receive(t, joined), sched.ErrInTask)
		open.CountDown()
		join(t, c)
		_, err = c.Engines().Here()
		require.ErrorIs(t, err, uring.ErrClosed)
		ran := false
		submit(c, func() { ran = true })
		require.False(t, ran, "it waits for the next start")
		start(t, c)
		join(t, c)
		require.True(t, ran)
	})
	for _, c := range []*dispatch.Context{nil, {}} {
		task := dispatch.TopLevel{Run: func() {}}
		require.ErrorIs(t, c.Submit(task), dispatch.ErrNotMade)
		require.ErrorIs(t, c.TrySubmit(task), dispatch.ErrNotMade)
		require.ErrorIs(t, c.Start(), dispatch.ErrNotMade)
		require.ErrorIs(t, c.Join(), dispatch.ErrNotMade)
		require.Zero(t, c.Pending())
	}
	for _, s := range []*dispatch.Scheduler{nil, {}} {
		require.ErrorIs(t, s.Submit(dispatch.TopLevel{Run: func() {}}), dispatch.ErrNotMade)
		require.ErrorIs(t, s.Loop(), dispatch.ErrNotMade)
	}
	_, err := dispatch.NewScheduler(-1, dispatch.Options{})
	require.ErrorIs(t, err, dispatch.ErrNoContexts)
	c := dispatch.NewContext(dispatch.Options{Fibers: sched.Config{Backend: fiber.Goroutine, Policy: sched.RoundRobin}})
	require.ErrorIs(t, c.Start(), dispatch.ErrNoThread)
	c = dispatch.NewContext(dispatch.Options{Fibers: sched.Config{Policy: 99}})
	require.ErrorIs(t, c.Start(), sched.ErrPolicy)
}

// threadName is the name of the calling thread.
func threadName() string {
	name, err := os.ReadFile("/proc/thread-self/comm")
	must(err)
	return strings.TrimSpace(string(name))
}

// NewScheduler(0, ...) makes one context for each processor. Each has its number, which is in its thread's name and in
// reports.
func TestContextsHaveNumbers(t *testing.T) {
	var ids []int
	for range 3 {
		c := dispatch.NewContext(dispatch.Options{})
		ids = append(ids, c.ID())
		names := make(chan string, 1)
		submit(c, func() { names <- threadName() })
		start(t, c)
		require.Equal(t, fmt.Sprintf("context-%d-w0", c.ID()), receive(t, names))
		join(t, c)
	}
	require.NotEqual(t, ids[0], ids[1])
	require.Less(t, ids[1], ids[2])

	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	s, err := dispatch.NewScheduler(0, dispatch.Options{Fibers: sched.Config{Name: "s"}})
	require.NoError(t, err)
	names := make(chan string, 6)
	for range cap(names) {
		submit(s, func() { names <- threadName() })
	}
	loop(t, s)
	count := map[string]int{}
	for range cap(names) {
		count[receive(t, names)]++
	}
	next := ids[2] + 1
	require.Equal(t, map[string]int{
		fmt.Sprintf("s-%d-w0", next): 2, fmt.Sprintf("s-%d-w0", next+1): 2, fmt.Sprintf("s-%d-w0", next+2): 2,
	}, count)
}

// A panic is reported, and neither ends the context nor keeps BeforeEnd from running.
func TestTopLevelPanics(t *testing.T) {
	eachContext(t, func(t *testing.T, options dispatch.Options) {
		var reported []any
		options.Panicked = func(value any, stack []byte) {
			if len(stack) > 0 {
				reported = append(reported, value)
			}
		}
		s, err := dispatch.NewScheduler(1, options)
		require.NoError(t, err)
		before := 0
		must(s.Submit(dispatch.TopLevel{Run: func() { panic("run") }, BeforeEnd: func() { before++ }}))
		must(s.Submit(dispatch.TopLevel{Run: func() {}, BeforeEnd: func() { panic("end") }}))
		submit(s, func() { must(sched.Schedule(func() { panic("started") })) })
		loop(t, s)
		require.Equal(t, 1, before)
		require.Equal(t, []any{"run", "end", "started"}, reported)
	})
}

// A task that calls Goexit ends the program, as any task does; but its BeforeEnd runs first, and Loop does not return.
var goexit = child.New("uring-goexit", func(t child.T, b fiber.Backend) {
	s, err := dispatch.NewScheduler(1, dispatch.Options{Fibers: sched.Config{Backend: b}})
	require.NoError(t, err)
	must(s.Submit(dispatch.TopLevel{Run: runtime.Goexit, BeforeEnd: func() { fmt.Println("before the end") }}))
	err = s.Loop()
	fmt.Println("Loop has returned:", err)
	os.Exit(0)
})

func TestGoexit(t *testing.T) {
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		out := child.RunCrash(t, goexit, b)
		require.Contains(t, out, "before the end")
		require.Contains(t, out, sched.ErrGoexit.Error())
		require.NotContains(t, out, "Loop has returned")
	})
}

// Nothing refers to a task that has ended, while its context goes on.
func TestTaskIsFreed(t *testing.T) {
	eachContext(t, func(t *testing.T, options dispatch.Options) {
		options.Panicked = func(any, []byte) {}
		c := dispatch.NewContext(options)
		open := fibersync.NewLatch(1)
		submit(c, open.Wait)
		start(t, c)
		in, out := pipe(t)
		var freed atomic.Int32
		ran := make(chan bool, 2)
		for _, end := range []func(){func() {}, func() { panic("a task's") }} {
			kept := make([]byte, 1000)
			runtime.AddCleanup(&kept[0], func(int) { freed.Add(1) }, 0)
			must(c.Submit(dispatch.TopLevel{Run: func() {
				_ = read(c.Engines(), in)
				kept[0] = 1
				end()
			}, BeforeEnd: func() {
				kept[1] = 2
				ran <- true
			}}))
		}
		_, err := unix.Write(out, []byte{1, 2})
		require.NoError(t, err)
		receive(t, ran)
		receive(t, ran)
		for end := time.Now().Add(hang); freed.Load() < 2; time.Sleep(time.Millisecond) {
			require.True(t, time.Now().Before(end), "something refers to a task that has ended")
			runtime.GC()
		}
		open.CountDown()
		join(t, c)
	})
}

// Tasks are given to the contexts in turn, and stay there: they go on where they have begun, on the thread of the ring
// that their requests were submitted to.
func TestTasksStay(t *testing.T) {
	eachContext(t, func(t *testing.T, options dispatch.Options) {
		const contexts, tasks = 3, 12
		s, err := dispatch.NewScheduler(contexts, options)
		require.NoError(t, err)
		type place struct {
			engine *uring.Engine
			thread int
		}
		where := func() place { return place{here(s.Engines()), unix.Gettid()} }
		var mu sync.Mutex
		count := make(map[place]int)
		moved := 0
		in, out := pipe(t)
		for range tasks {
			submit(s, func() {
				began := where()
				for range 5 {
					_ = read(s.Engines(), in)
					if where() != began {
						moved++
					}
				}
				mu.Lock()
				count[began]++
				mu.Unlock()
			})
		}
		_, err = unix.Write(out, make([]byte, 5*tasks))
		require.NoError(t, err)
		loop(t, s)
		require.Zero(t, moved)
		require.Len(t, count, contexts)
		for _, n := range count {
			require.Equal(t, tasks/contexts, n)
		}
	})
}

// Loop returns when the last task has ended, whenever that is: also between its look at the count and its wait.
func TestLoopMissesNoEnd(t *testing.T) {
	eachContext(t, func(t *testing.T, options dispatch.Options) {
		s, err := dispatch.NewScheduler(2, options)
		require.NoError(t, err)
		rounds := 50
		if testing.Short() {
			rounds = 5
		}
		for range rounds {
			var ran atomic.Int64
			for range 4 {
				submit(s, func() {
					ran.Add(1)
					submit(s, func() { ran.Add(1) })
				})
			}
			loop(t, s)
			require.EqualValues(t, 8, ran.Load())
		}
	})
}

// A context of a scheduler does not stop when it has nothing left: another one's task may give it one.
func TestContextsOfASchedulerWait(t *testing.T) {
	eachContext(t, func(t *testing.T, options dispatch.Options) {
		s, err := dispatch.NewScheduler(2, options)
		require.NoError(t, err)
		const rounds = 20
		ran := 0
		var pass func()
		pass = func() { // to the other context
			if ran++; ran < rounds {
				time.Sleep(50 * time.Microsecond) // the other one runs out of work
				submit(s, pass)
			}
		}
		submit(s, pass)
		loop(t, s)
		require.Equal(t, rounds, ran)
	})
}

// If a context cannot start, no task begins, and nothing is left running. The tasks stay queued for the next Loop.
func TestLoopThatCannotStart(t *testing.T) {
	eachContext(t, func(t *testing.T, options dispatch.Options) {
		workers, ran := 0, 0
		options.Fibers.Initializer = func(int) {
			if workers++; workers == 2 {
				runtime.Goexit() // a worker that begins so cannot be used
			}
		}
		s, err := dispatch.NewScheduler(3, options)
		require.NoError(t, err)
		submit(s, func() { ran++ })
		require.ErrorIs(t, s.Loop(), sched.ErrGoexit)
		require.Zero(t, ran)
		loop(t, s)
		require.Equal(t, 1, ran)
	})
}

// Fibers may wait for a context: their worker then runs others.
func TestFibersJoin(t *testing.T) {
	eachContext(t, func(t *testing.T, options dispatch.Options) {
		c := dispatch.NewContext(options)
		open := fibersync.NewLatch(1)
		submit(c, open.Wait)
		start(t, c)
		joined := make(chan error, 1)
		require.NoError(
			t,
			sched.Run(sched.Config{Workers: 1, Backend: options.Fibers.Backend, GiveUpAfter: time.Millisecond}, func() {
				must(sched.Get().Go(func() { joined <- c.Join() }))
				time.AfterFunc(
					20*time.Millisecond, open.CountDown,
				) // long after that: to wait for a context is no deadlock
			}),
		)
		require.NoError(t, receive(t, joined))
	})
}
