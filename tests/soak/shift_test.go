package soak_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/uring"
	"fiberlab/tests/internal/suite"
)

// shift is a scheduler, and what goes on upon it until it is over.
type shift struct {
	*soak
	cfg     sched.Config
	s       *sched.Scheduler
	engines *uring.Engines
	ending  atomic.Bool
}

// work is one kind of what goes on. It returns soon after the shift is over.
type work struct {
	name string
	do   func(x *shift, p *part, rng *rand.Rand)
}

var works = []work{
	{"primitives", (*shift).primitives},
	{"tasks", (*shift).tasks},
	{"forks", (*shift).forks},
	{"futures", (*shift).futures},
	{"blocking calls", (*shift).calls},
	{"engines", (*shift).echo},
	{"fibers", (*shift).fibers},
}

// shift makes a scheduler by chance, has some kinds of work done on it for a while, and closes it.
func (k *soak) shift(rng *rand.Rand) {
	x := &shift{soak: k, cfg: sched.Config{
		Workers:     []int{1, 2, 3, 4, 8}[rng.IntN(5)],
		Policy:      sched.Policies()[rng.IntN(len(sched.Policies()))],
		Backend:     fiber.Backends()[rng.IntN(len(fiber.Backends()))],
		MaxIdle:     []int{1, 10, 100}[rng.IntN(3)],
		KeepThreads: rng.IntN(2) == 0,
		GiveUpAfter: -1, // the monitor judges what stands still
		Groups:      sched.Groups{Size: []int{0, 1, 2}[rng.IntN(3)], Mode: sched.GroupMode(rng.IntN(2))},
	}}
	x.engines = uring.New(uring.Options{Driver: []uring.Driver{uring.Auto, uring.Epoll}[rng.IntN(2)]})
	if rng.IntN(2) == 0 {
		x.engines.Attach(&x.cfg)
	}
	s, err := sched.New(x.cfg)
	require.NoError(k, err)
	x.s = s
	whole := &part{
		name: "a shift on " + suite.Name(x.cfg), state: func() string { return fmt.Sprintf("%+v", s.Stats()) },
	}
	k.watch(whole, func() {
		var all sync.WaitGroup
		for _, w := range works {
			own := rand.New(rand.NewPCG(rng.Uint64(), 3))
			if rng.IntN(3) == 0 {
				continue
			}
			all.Add(1)
			go func() {
				defer all.Done()
				p := &part{name: w.name + " on " + suite.Name(x.cfg)}
				k.watch(p, func() { w.do(x, p, own) })
			}()
		}
		pause(rng, &k.over, time.Second)
		x.ending.Store(true)
		all.Wait()
		whole.progress.Add(1)
		assert.NoError(k, s.Close())
		whole.progress.Add(1)
		assert.NoError(k, x.engines.Close())
	})
}
