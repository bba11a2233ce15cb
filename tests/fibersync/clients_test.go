package fibersync_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/tests/internal/schedtest"
)

// startClients starts n of the company. Each has a number, and a source of random numbers
// that depends on rng's.
func startClients(c *company, rng *rand.Rand, n int, client func(i int, rng *rand.Rand)) {
	for i := range n {
		own := rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
		c.start(func() { client(i, own) })
	}
}

// lapse returns a context that is over, or will be very soon.
func lapse(rng *rand.Rand) (context.Context, context.CancelFunc) {
	if rng.IntN(2) == 0 {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		return ctx, cancel
	}
	return context.WithTimeout(context.Background(), time.Duration(rng.IntN(100))*time.Microsecond)
}

// inVain has tasks and goroutines wait for what does not come. Some are cancelled, for others
// it takes too long, and each must be told which. It returns a context that is over, when
// all have given up.
func inVain(c *company, wait func(ctx context.Context) error) (over context.Context) {
	over, cancel := context.WithCancel(context.Background())
	for i := range 20 {
		c.start(func() {
			if i%4 < 2 { // not i%2: fibers and goroutines alternate
				assert.Equal(c.t, context.Canceled, wait(over))
				return
			}
			short, stop := context.WithTimeout(context.Background(), time.Millisecond)
			defer stop()
			assert.Equal(c.t, context.DeadlineExceeded, wait(short))
		})
	}
	c.start(cancel)
	c.wait()
	return over
}

// standing is a context that opens a latch when a wait with it has begun: a waiter asks
// for Done once it is queued, and not before.
type standing struct {
	context.Context
	once   sync.Once
	inLine *schedtest.Latch
}

func newStanding(ctx context.Context) *standing {
	return &standing{Context: ctx, inLine: schedtest.NewLatch(1)}
}

// Done implements context.Context.
func (s *standing) Done() <-chan struct{} {
	s.once.Do(s.inLine.Done)
	return s.Context.Done()
}

// queueUp starts n clients that wait, each when its predecessor is queued, and
// returns when all do.
func queueUp(c *company, n int, ctx context.Context, wait func(i int, ctx context.Context)) {
	for i := range n {
		s := newStanding(ctx)
		c.start(func() { wait(i, s) })
		s.inLine.Wait()
	}
}

// roll is the numbers of the clients that have gone on, in the order of their reports.
type roll struct {
	mu      sync.Mutex
	numbers []int
	steps   []*schedtest.Latch
}

func newRoll(n int) *roll {
	r := &roll{}
	for range n {
		r.steps = append(r.steps, schedtest.NewLatch(1))
	}
	return r
}

func (r *roll) report(i int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.numbers = append(r.numbers, i)
	r.steps[len(r.numbers)-1].Done()
}

// reported waits until so many have, and returns the number of the last of these.
func (r *roll) reported(n int) int {
	r.steps[n-1].Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.numbers[n-1]
}
