package sched_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/signal"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/internal/debug"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/suite"
)

// exitReported is the status of a child whose watchdog has reported.
const exitReported = 3

// watched registers a child whose function of Run is f. It ends when its watchdog has reported something.
func watched(name string, f func(cfg sched.Config)) string {
	return child.NewOnFirstThread(name, func(t child.T, b fiber.Backend) {
		cfg := child.Config(t, b)
		cfg.Deadlocked = func(d *sched.Deadlock) {
			fmt.Fprintln(os.Stderr, d)
			os.Exit(exitReported)
		}
		cfg.Stalled = func(s *sched.Stall) {
			fmt.Fprintln(os.Stderr, s)
			os.Exit(exitReported)
		}
		if os.Getenv(envShortWatchdog) != "" {
			cfg.Watchdog = time.Second
		}
		require.NoError(t, sched.Run(cfg, func() { f(cfg) }))
	})
}

// envShortWatchdog names the variable that has a child of watched set a watchdog of its own.
const envShortWatchdog = "FIBERLAB_SHORT_WATCHDOG"

// runWatched runs children of watched side by side, each in one configuration, which depends on its name: they wait
// for seconds.
func runWatched(t *testing.T, workers int, names []string, check func(t *testing.T, name string, cfg sched.Config)) {
	for i, name := range names {
		configs := (suite.Over{Workers: []int{workers}}).Configs(t.Name() + name)
		cfg := configs[i%len(configs)]
		t.Run(name+"/"+suite.Name(cfg), func(t *testing.T) {
			t.Parallel()
			check(t, name, cfg)
		})
	}
}

// Waits that never end, in the function of Run or in its tasks.
var (
	childLockTwice = watched("lock twice", func(sched.Config) {
		var m fibersync.Mutex
		m.Lock()
		m.Lock()
	})
	childLocksCross = watched("locks cross", func(sched.Config) {
		var a, b fibersync.Mutex
		var locked fibersync.WaitGroup
		locked.Add(2)
		lockBoth := func(first, second *fibersync.Mutex) {
			first.Lock()
			locked.Done()
			locked.Wait()
			second.Lock()
		}
		var over fibersync.WaitGroup
		over.Go(func() { lockBoth(&a, &b) })
		lockBoth(&b, &a)
	})
	childReceive = watched("receive from an empty channel", func(sched.Config) {
		_, _ = fibersync.NewChannel[int](1).Receive()
	})
	childOnceInside = watched("once in once", func(sched.Config) {
		var o fibersync.Once
		o.Do(func() { o.Do(func() {}) })
	})
	childNeverDone = watched("a wait group that is not done", func(sched.Config) {
		var g fibersync.WaitGroup
		g.Add(1)
		g.Wait()
	})
	childProfiled = watched("a profile and a trace are written, and a goroutine calls Close", func(sched.Config) {
		_ = pprof.StartCPUProfile(io.Discard)
		_ = trace.Start(io.Discard)
		s := sched.Get()
		go func() {
			for s.Close() != nil {
			}
		}()
		fibersync.NewLatch(1).Wait()
	})
	childLockOfGoroutine = watched("a goroutine waits as well", func(sched.Config) {
		var m fibersync.Mutex
		m.Lock()
		var done fibersync.WaitGroup
		done.Add(1)
		var over sync.WaitGroup
		over.Add(1)
		go func() { // it waits for the goroutine below, which waits for the mutex
			over.Wait()
			done.Done()
		}()
		go func() {
			m.Lock()
			over.Done()
		}()
		done.Wait()
	})
)

// The watchdog of Run says what Go's runtime says of goroutines: that nothing can go on, and for what each fiber waits.
func TestRunReportsDeadlock(t *testing.T) {
	inDebug := func(text string) string { // what debug builds notice at once
		if debug.On {
			return text
		}
		return ""
	}
	wants := map[string]struct {
		text  []string
		panic string // in place of a report
	}{
		childLockTwice: {
			[]string{
				"1 fibers are blocked", "by fibersync.(*Mutex).Lock of the mutex 0x",
				": unlock it before its holder waits",
			},
			inDebug(fibersync.ErrHolder.Error()),
		},
		childLocksCross: {
			[]string{"2 fibers are blocked", "by fibersync.(*Mutex).Lock of the mutex 0x", inDebug("which worker "),
				": unlock it before its holder waits"}, "",
		},
		childReceive: {
			[]string{
				"by fibersync.(*Channel[...]).Receive of the channel 0x", ": send to the channel, or close it",
			}, "",
		},
		childOnceInside: {
			[]string{"by fibersync.(*Once).Do in ", "it must not call Do of the same Once"},
			inDebug(fibersync.ErrOnceInside.Error()),
		},
		childNeverDone: {
			[]string{"by fibersync.(*WaitGroup).Wait in ", ": call Done as often as Add has counted"}, "",
		},
		childProfiled:        {[]string{"by fibersync.(*Latch).Wait in "}, ""},
		childLockOfGoroutine: {[]string{"1 fibers are blocked", "by fibersync.(*WaitGroup).Wait in "}, ""},
	}
	runWatched(t, 2, slices.Sorted(maps.Keys(wants)), func(t *testing.T, name string, cfg sched.Config) {
		out := child.RunCrash(t, name, cfg.Backend, child.Env(cfg))
		if want := wants[name]; want.panic != "" {
			assert.Contains(t, out, want.panic)
		} else {
			assert.Regexp(t, "(?m)^deadlock: scheduler: ", out) // AddressSanitizer may warn of swapcontext before
			assert.Contains(t, out, "watchdog_test.go:")
			for _, text := range want.text {
				assert.Contains(t, out, text)
			}
		}
	})
}

// outside is how long what wakes a fiber from outside takes: longer than a watchdog waits that sees nothing.
const outside = sched.DefaultWatchdog + 2*time.Second

// What ends a wait from outside of the scheduler.
var childrenWithOutside = func() (names []string) {
	for name, f := range map[string]func(wake func()){
		"a goroutine": func(wake func()) {
			go func() {
				time.Sleep(outside)
				wake()
			}()
		},
		"a goroutine with a timer": func(wake func()) {
			go func() {
				<-time.After(outside)
				wake()
			}()
		},
		"a goroutine that a goroutine waits for": func(wake func()) {
			var over sync.WaitGroup
			over.Add(1)
			go func() {
				over.Wait()
				wake()
			}()
			go func() {
				time.Sleep(outside)
				over.Done()
			}()
		},
		"a goroutine that sleeps by a primitive": func(wake func()) {
			go func() {
				_ = fibersync.Sleep(context.Background(), outside)
				wake()
			}()
		},
		"a goroutine that waits with a deadline": func(wake func()) {
			go func() {
				c := fibersync.NewCond(new(fibersync.Mutex))
				c.L.Lock()
				c.AwaitFor(outside, func() bool { return false })
				wake()
			}()
		},
		"a fiber of package fiber": func(wake func()) {
			go func() {
				root, err := fiber.Attach(fiber.Default)
				if err != nil {
					panic(err)
				}
				f, err := fiber.New(fiber.Config{}, func() {
					time.Sleep(outside)
					wake()
				})
				if err == nil {
					err = root.SwitchTo(f)
				}
				if err != nil {
					panic(err)
				}
			}()
		},
		"a signal": func(wake func()) {
			signals := make(chan os.Signal, 1)
			signal.Notify(signals, unix.SIGALRM)
			go func() {
				<-signals
				wake()
			}()
			_, _ = unix.Setitimer(unix.ItimerReal, unix.Itimerval{Value: unix.NsecToTimeval(int64(outside))})
		},
		"a socket": func(wake func()) {
			here, _ := net.Listen("tcp", "127.0.0.1:0")
			_ = here.(*net.TCPListener).SetDeadline(time.Now().Add(outside))
			go func() {
				_, _ = here.Accept()
				wake()
			}()
		},
		"a task with a deadline": func(wake func()) {
			_ = sched.Schedule(func() {
				sched.Sleep(outside)
				wake()
			})
		},
		"a blocking call": func(wake func()) {
			_ = sched.Schedule(func() {
				fibersync.BlockingCall(func() { time.Sleep(outside) })
				wake()
			})
		},
		"a context": func(wake func()) {
			_ = sched.Schedule(func() {
				ctx, cancel := context.WithTimeout(context.Background(), outside)
				defer cancel()
				_ = fibersync.NewLatch(1).WaitContext(ctx)
				wake()
			})
		},
		"another scheduler that is busy": func(wake func()) {
			s, err := sched.New(sched.Config{Workers: 1})
			if err == nil {
				end := time.Now().Add(outside)
				for i := range 2 {
					_ = s.Go(func() {
						for time.Now().Before(end) {
							sched.Yield()
						}
						if i == 0 {
							wake()
						}
					})
				}
			}
		},
		"another scheduler": func(wake func()) {
			s, err := sched.New(sched.Config{Workers: 1})
			if err == nil {
				_ = s.Go(func() {
					sched.Sleep(outside)
					wake()
				})
			}
		},
	} {
		names = append(names, watched("woken by "+name, func(sched.Config) {
			l := fibersync.NewLatch(1)
			f(l.CountDown)
			l.Wait()
		}))
	}
	slices.Sort(names)
	return names
}()

// As long as something outside may still wake the fibers, the watchdog of Run says nothing.
func TestRunDoesNotReportWhatWaitsForTheOutside(t *testing.T) {
	names := childrenWithOutside
	if testing.Short() {
		names = names[:2]
	}
	runWatched(t, 1, names, func(t *testing.T, name string, cfg sched.Config) {
		child.RunOK(t, name, cfg.Backend, child.Env(cfg))
	})
}
