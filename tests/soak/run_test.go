package soak_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fiberlab/fiber"
	"fiberlab/tests/internal/leaks"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// soak is one run. It is the require.TestingT of all that it does.
type soak struct {
	began  time.Time
	over   atomic.Bool
	failed atomic.Bool
	shifts atomic.Uint64
	steps  atomic.Uint64 // of parts that have ended

	mu    sync.Mutex
	parts []*part
	most  leaks.Holdings // that were seen at a time
}

// part is something that must go on.
type part struct {
	name     string
	progress atomic.Uint64
	state    func() string // may be nil
	last     uint64        // progress when it was looked at last; of the monitor
	quiet    int           // how often it has been looked at since without progress
}

// Errorf says what is wrong. The run ends soon.
func (k *soak) Errorf(format string, args ...any) {
	k.failed.Store(true)
	k.over.Store(true)
	fmt.Printf("FAILED after %v: "+format+"\n", append([]any{k.elapsed()}, args...)...)
}

// FailNow ends the program.
func (k *soak) FailNow() {
	k.report()
	os.Exit(1)
}

func (k *soak) elapsed() time.Duration { return time.Since(k.began).Round(time.Second / 10) }

// watch calls f. The run fails if the part's progress stands still before f has returned.
func (k *soak) watch(p *part, f func()) {
	k.mu.Lock()
	k.parts = append(k.parts, p)
	k.mu.Unlock()
	f()
	k.mu.Lock()
	k.parts = slices.DeleteFunc(k.parts, func(other *part) bool { return other == p })
	k.mu.Unlock()
	k.steps.Add(p.progress.Load())
}

// looks is how often the monitor looks at each part in a schedtest.Standstill.
const looks = 120

// monitor looks at all parts until ended is closed, and says every now and then how far they are.
func (k *soak) monitor(d time.Duration, ended <-chan struct{}) {
	every := min(max(d/10, time.Second), 20*time.Second)
	for said := time.Now(); ; {
		select {
		case <-ended:
			return
		case <-time.After(schedtest.Standstill / looks):
		}
		still := k.look()
		if still != nil {
			fmt.Printf("FAILED after %v: %s has stood still for %v\n", k.elapsed(), still.name, schedtest.Standstill)
			k.FailNow()
		}
		if time.Since(said) >= every {
			said = time.Now()
			k.say()
		}
	}
}

// look returns a part that stands still, or nil.
func (k *soak) look() (still *part) {
	now, err := leaks.Read()
	if err != nil {
		panic(err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.most.Threads = max(k.most.Threads, now.Threads)
	k.most.Stats.Identities = max(k.most.Stats.Identities, now.Stats.Identities)
	for _, p := range k.parts {
		if progress := p.progress.Load(); progress != p.last {
			p.last, p.quiet = progress, 0
		} else if p.quiet++; p.quiet > looks {
			still = p
		}
	}
	return still
}

func (k *soak) say() {
	k.mu.Lock()
	defer k.mu.Unlock()
	steps := k.steps.Load()
	for _, p := range k.parts {
		steps += p.progress.Load()
	}
	stats := fiber.ReadStats()
	fmt.Printf(
		"%8v: %d schedulers closed, %d steps; now %d parts, %d fibers, %d goroutines, %d Ms\n", k.elapsed(),
		k.shifts.Load(), steps, len(k.parts), stats.Fibers, runtime.NumGoroutine(), countMs(),
	)
}

// report says all that is known: where all goroutines are, and how far the parts.
func (k *soak) report() {
	stacks := make([]byte, 16<<20)
	fmt.Printf("%s\n", stacks[:runtime.Stack(stacks, true)])
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.parts {
		fmt.Printf(
			"%s: %d steps, of which none was in the last %v", p.name, p.progress.Load(),
			time.Duration(p.quiet)*schedtest.Standstill/looks,
		)
		if p.state != nil {
			fmt.Printf("\n%s", strings.TrimSpace(p.state()))
		}
		fmt.Println()
	}
}

// countMs counts the runtime's Ms, those that it has lent or can lend included.
func countMs() int { return pprof.Lookup("threadcreate").Count() }

// run runs everything for so long, and ends the program if anything is wrong.
func run(d time.Duration, seed uint64) {
	k := &soak{began: time.Now()}
	fmt.Printf("everything at once for %v, seed %d\n", d, seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	disturb(k, rng, false) // so that what these start for good is there
	before, ms := k.settled(func(leaks.Holdings) bool { return true }), countMs()

	ended, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		k.monitor(d, ended)
	}()
	calm := disturb(k, rng, true)
	var lanes sync.WaitGroup
	for range suite.Scaled(3, 2) {
		own := rand.New(rand.NewPCG(rng.Uint64(), 1))
		lanes.Add(1)
		go func() {
			defer lanes.Done()
			for !k.over.Load() {
				k.shift(own)
				k.shifts.Add(1)
			}
		}()
	}
	for end := k.began.Add(d); !k.over.Load() && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	k.over.Store(true)
	lanes.Wait()
	calm()
	close(ended)
	<-stopped
	k.say()
	k.checkLeaks(before, ms)
	if k.failed.Load() {
		os.Exit(1)
	}
}

// What the runtime may keep for later without a leak: Ms of its own, and threads that are idle.
const msToSpare, threadsToSpare = 200, 60

// checkLeaks checks that nothing is left but what was there before, when the runtime had so many Ms.
func (k *soak) checkLeaks(before leaks.Holdings, ms int) {
	mostThreads := before.Threads + k.most.Threads/2 + threadsToSpare
	after := k.settled(func(now leaks.Holdings) bool {
		return now.Stats == before.Stats && now.Goroutines <= before.Goroutines &&
			now.Descriptors <= before.Descriptors &&
			now.Threads <= mostThreads
	})
	fmt.Printf("before: %+v, %d Ms\nmost:   %+v\nafter:  %+v, %d Ms\n", before, ms, k.most, after, countMs())
	if after.Stats != before.Stats {
		k.Errorf("fibers, identities or stacks are left: %+v", after.Stats)
	}
	if after.Goroutines > before.Goroutines {
		k.Errorf("%d goroutines are left, %d were there before", after.Goroutines, before.Goroutines)
		k.report()
	}
	if after.Descriptors > before.Descriptors {
		k.Errorf("%d descriptors are open, %d were before", after.Descriptors, before.Descriptors)
	}
	if after.Threads > mostThreads {
		k.Errorf("%d threads are left", after.Threads)
	}
	if ms := countMs(); ms > 4*k.most.Stats.Identities+threadsToSpare+msToSpare {
		k.Errorf("the runtime has made %d Ms for %d identities at most", ms, k.most.Stats.Identities)
	}
	k.checkMs(after.Threads)
}

// checkMs checks that nearly all Ms that no thread has can be lent again: then the runtime makes none for as many
// fibers.
func (k *soak) checkMs(threads int) {
	const most = 10_000
	had := countMs()
	n := min(had-threads-msToSpare, most)
	if n <= 0 {
		return
	}
	if err := errors.Join(fiber.Prewarm(fiber.Config{Backend: suite.HandSwitched[0]}, n), fiber.Drain()); err != nil {
		k.Errorf("%d fibers cannot be made, and dropped: %v", n, err)
	}
	if now := countMs(); now > had+msToSpare {
		k.Errorf("of %d Ms, %d at the most could be lent again", had, had-(now-had))
	}
}

// settled drains the pool of fibers, and waits, for a bounded time, until what the process holds satisfies enough.
func (k *soak) settled(enough func(leaks.Holdings) bool) leaks.Holdings {
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if err := fiber.Drain(); err != nil {
			k.Errorf("drain: %v", err)
		}
		now, err := leaks.Read()
		if err != nil {
			k.Errorf("what the process holds cannot be read: %v", err)
		}
		if enough(now) || time.Now().After(end) {
			return now
		}
	}
}
