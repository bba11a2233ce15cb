// Package campus puts all primitives of package fibersync under stress at once.
package campus

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
)

// station is a primitive under stress. Clients of all kinds walk from one to another.
type station interface {
	// enter uses the primitive in some way that rng chooses. Several enter at once. It
	// returns although no other visitor may ever come: it starts the partners that it needs.
	enter(rng *rand.Rand)

	// check is called once, on a plain goroutine, when all visitors have left for good. It
	// ends the station's residents, and reports whether anything was lost.
	check(t require.TestingT)
}

// Campus is the stations and their visitors: fibers of one scheduler, and goroutines. Each station has something
// that must be exact in the end, and a lost wake-up leaves a visitor behind.
type Campus struct {
	Progress atomic.Uint64 // counts visits

	t        require.TestingT
	s        *sched.Scheduler
	stations []*place
	over     atomic.Bool
	parts    sync.WaitGroup // visitors, and the partners that they start
	starts   atomic.Uint64
}

// place is a station, and how many have entered and left it.
type place struct {
	station
	entered, left atomic.Uint64
}

// New makes a campus with all stations, some of which have residents. t gets what they find wrong.
func New(t require.TestingT, s *sched.Scheduler) *Campus {
	x := &Campus{t: t, s: s}
	for _, make := range stations {
		x.stations = append(x.stations, &place{station: make(x)})
	}
	return x
}

// Open lets visitors in, which walk until Close.
func (x *Campus) Open(fibers, goroutines int, rng *rand.Rand) {
	for range fibers {
		seed := rng.Uint64()
		x.fiber(&x.parts, func() { x.visit(seed) })
	}
	for range goroutines {
		seed := rng.Uint64()
		x.goroutine(&x.parts, func() { x.visit(seed) })
	}
}

// Close ends the visits, waits for the visitors, and checks each station.
func (x *Campus) Close() {
	x.over.Store(true)
	x.parts.Wait()
	for _, p := range x.stations {
		p.check(x.t)
	}
}

// visit walks from station to station until the test is over.
func (x *Campus) visit(seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0))
	for !x.over.Load() {
		p := x.stations[rng.IntN(len(x.stations))]
		p.entered.Add(1)
		p.enter(rng)
		p.left.Add(1)
		x.Progress.Add(1)
		pause()
	}
}

// fiber calls f as a task of the campus's scheduler, and goroutine on one.
func (x *Campus) fiber(part *sync.WaitGroup, f func()) {
	part.Add(1)
	err := x.s.Enqueue(sched.Task{Func: func() {
		defer part.Done()
		f()
	}})
	if !assert.NoError(x.t, err) {
		part.Done()
	}
}

func (x *Campus) goroutine(part *sync.WaitGroup, f func()) {
	part.Add(1)
	go func() {
		defer part.Done()
		f()
	}()
}

// beside calls f beside a visitor: as a task, or on a goroutine, in turn.
func (x *Campus) beside(f func()) {
	if x.starts.Add(1)%2 == 0 {
		x.fiber(&x.parts, f)
	} else {
		x.goroutine(&x.parts, f)
	}
}

// reside has f called by residents of both kinds, each with its number. The station waits for
// them during check.
func (x *Campus) reside(count int, f func(i int)) *sync.WaitGroup {
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

// String says how many visitors are where.
func (x *Campus) String() string {
	var text strings.Builder
	for _, p := range x.stations {
		left := p.left.Load()
		fmt.Fprintf(&text, "%s: left by %d, in it %d\n", p.name(), left, p.entered.Load()-left)
	}
	return text.String()
}

// Visited reports whether each station has been left by a visitor.
func (x *Campus) Visited() bool {
	return !slices.ContainsFunc(x.stations, func(p *place) bool { return p.left.Load() == 0 })
}

func (p *place) name() string {
	return strings.TrimPrefix(fmt.Sprintf("%T", p.station), "*campus.")
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

// pause lets others run first; any visitor may call it. It orders nothing.
func pause() {
	if sched.Current() != nil {
		sched.Yield()
		return
	}
	runtime.Gosched()
}
