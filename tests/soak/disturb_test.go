package soak_test

import (
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/tests/internal/suite"
)

// disturb makes everything harder until the function that it returns is called. Signals come, the collector is busy,
// the runtime traces and takes profiles, and the number of processors changes. If it is not to last, it does each once.
func disturb(k *soak, rng *rand.Rand, last bool) (calm func()) {
	var over atomic.Bool
	var all sync.WaitGroup
	again := func(f func(rng *rand.Rand)) {
		own := rand.New(rand.NewPCG(rng.Uint64(), 2))
		all.Add(1)
		go func() {
			defer all.Done()
			for f(own); last && !over.Load(); {
				f(own)
			}
		}()
	}
	arrivals := make(chan os.Signal, 1)
	arrived := 0
	signal.Notify(arrivals, unix.SIGUSR1)
	counted := make(chan struct{})
	go func() {
		defer close(counted)
		for range arrivals {
			arrived++
		}
	}()
	again(storm)
	again(collect)
	again(func(rng *rand.Rand) {
		if err := trace.Start(io.Discard); err != nil {
			k.Errorf("trace: %v", err)
		}
		pause(rng, &over, 3*time.Second)
		trace.Stop()
	})
	again(func(rng *rand.Rand) {
		if err := pprof.StartCPUProfile(io.Discard); err != nil {
			k.Errorf("profile: %v", err)
		}
		pause(rng, &over, 2*time.Second)
		pprof.StopCPUProfile()
		pause(rng, &over, time.Second)
	})
	again(func(rng *rand.Rand) {
		before := runtime.GOMAXPROCS(0)
		runtime.GOMAXPROCS(1 + rng.IntN(2*before))
		pause(rng, &over, time.Second)
		runtime.GOMAXPROCS(before)
	})
	again(func(rng *rand.Rand) {
		if err := fiber.Drain(); err != nil {
			k.Errorf("drain: %v", err)
		}
		pause(rng, &over, 300*time.Millisecond)
	})
	calm = func() {
		over.Store(true)
		all.Wait()
		signal.Stop(arrivals)
		close(arrivals)
		<-counted
		if last && arrived == 0 {
			k.Errorf("no SIGUSR1 has arrived")
		}
	}
	if !last {
		calm()
	}
	return calm
}

// pause sleeps for up to most, or until over is set.
func pause(rng *rand.Rand, over *atomic.Bool, most time.Duration) {
	for end := time.Now().Add(time.Duration(rng.Int64N(int64(most)))); !over.Load() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// storm sends SIGUSR1 to the process, and SIGUSR1 or SIGPROF to each of its threads, and then is quiet for a moment.
func storm(rng *rand.Rand) {
	pid := os.Getpid()
	_ = unix.Kill(pid, unix.SIGUSR1)
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, thread := range threads {
		if tid, err := strconv.Atoi(thread.Name()); err == nil {
			_ = unix.Tgkill(pid, tid, [...]unix.Signal{unix.SIGUSR1, unix.SIGPROF}[rng.IntN(2)]) // unless it has ended
		}
	}
	time.Sleep(time.Duration(suite.Scaled(200, 2_000)) * time.Microsecond)
}

// collect runs the collector, and leaves the processors to others for as long.
func collect(*rand.Rand) {
	start := time.Now()
	runtime.GC()
	time.Sleep(time.Since(start))
}
