package fibersync_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// station is a primitive under stress. Clients of all kinds walk from one to another.
type station interface {
	// enter uses the primitive in some way that rng chooses. Several enter at once. It
	// returns although no other visitor may ever come: it starts the partners that it needs.
	enter(rng *rand.Rand)

	// check is called once, on a plain goroutine, when all visitors have left for good. It
	// ends the station's residents, and tells whether anything was lost.
	check(t *testing.T)
}

// campus is the stations and their visitors: fibers of one scheduler, and goroutines.
type campus struct {
	t        *testing.T
	s        *sched.Scheduler
	stations []*place
	over     atomic.Bool
	progress atomic.Uint64
	parts    sync.WaitGroup // visitors, and the partners that they start
	starts   atomic.Uint64
}

// place is a station, and how many have entered and left it.
type place struct {
	station
	entered, left atomic.Uint64
}

// settle makes the stations of a campus. Each is made by a function that may let residents in.
func (x *campus) settle(makers []func(x *campus) station) {
	for _, make := range makers {
		x.stations = append(x.stations, &place{station: make(x)})
	}
}

// visit walks from station to station until the test is over.
func (x *campus) visit(seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0))
	for !x.over.Load() {
		p := x.stations[rng.IntN(len(x.stations))]
		p.entered.Add(1)
		p.enter(rng)
		p.left.Add(1)
		x.progress.Add(1)
		pause()
	}
}

// fiber calls f as a task of the campus's scheduler, and goroutine on one.
func (x *campus) fiber(part *sync.WaitGroup, f func()) {
	part.Add(1)
	err := x.s.Enqueue(sched.Task{Func: func() {
		defer part.Done()
		f()
	}})
	if !assert.NoError(x.t, err) {
		part.Done()
	}
}

func (x *campus) goroutine(part *sync.WaitGroup, f func()) {
	part.Add(1)
	go func() {
		defer part.Done()
		f()
	}()
}

// beside calls f beside a visitor: as a task, or on a goroutine, in turn.
func (x *campus) beside(f func()) {
	if x.starts.Add(1)%2 == 0 {
		x.fiber(&x.parts, f)
	} else {
		x.goroutine(&x.parts, f)
	}
}

// reside has f called by residents of both kinds, each with its number. The station waits for
// them during check.
func (x *campus) reside(count int, f func(i int)) *sync.WaitGroup {
	residents := new(sync.WaitGroup)
	for i := range count {
		if i%3 == 0 {
			x.goroutine(residents, func() { f(i) })
		} else {
			x.fiber(residents, func() { f(i) })
		}
	}
	return residents
}

// String tells how many visitors are where.
func (x *campus) String() string {
	var text strings.Builder
	for _, p := range x.stations {
		left := p.left.Load()
		fmt.Fprintf(&text, "%s: left by %d, in it %d\n", p.name(), left, p.entered.Load()-left)
	}
	return text.String()
}

// visited tells whether each station has been left by a visitor.
func (x *campus) visited() bool {
	return !slices.ContainsFunc(x.stations, func(p *place) bool { return p.left.Load() == 0 })
}

func (p *place) name() string {
	return strings.TrimPrefix(fmt.Sprintf("%T", p.station), "*fibersync_test.")
}

// hurry returns a context that ends soon, every fourth time, and otherwise never.
func hurry(rng *rand.Rand) (context.Context, context.CancelFunc) {
	if rng.IntN(4) > 0 {
		return context.Background(), func() {}
	}
	return context.WithTimeout(context.Background(), time.Duration(rng.IntN(300))*time.Microsecond)
}

// dither lets others go first, often several times: long enough for a crowd to gather.
func dither(rng *rand.Rand) {
	for range rng.IntN(8) {
		pause()
	}
}

// Fibers and goroutines use all primitives for a while, each as it likes. Each station has something
// that must be exact in the end, and a lost wake-up leaves a visitor behind.
func TestStress(t *testing.T) {
	suite.EachConfig(t, []int{4}, func(t *testing.T, cfg sched.Config) {
		rng := suite.NewRand(t)
		cfg.MaxIdle, cfg.GiveUpAfter = 200, -1
		s, err := sched.New(cfg)
		require.NoError(t, err)
		x := &campus{t: t, s: s}
		x.settle(stations)
		schedtest.Watchdog(t, s, nil, &x.progress, x.String)
		for range suite.Scaled(1000, 150) {
			seed := rng.Uint64()
			x.fiber(&x.parts, func() { x.visit(seed) })
		}
		for range suite.Scaled(100, 20) {
			seed := rng.Uint64()
			x.goroutine(&x.parts, func() { x.visit(seed) })
		}
		time.Sleep(suite.StressTime(t, 3*time.Second, time.Second))
		for !x.visited() { // a busy machine may need longer; if nothing goes on, the watchdog tells
			time.Sleep(time.Millisecond)
		}
		x.over.Store(true)
		x.parts.Wait()
		for _, p := range x.stations {
			p.check(t)
		}
		assert.NoError(t, s.Close())
		t.Logf("%d visits\n%v", x.progress.Load(), x)
	})
}
