package soak_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/forkjoin"
	"fiberlab/sched/uring/fiberio"
	"fiberlab/tests/internal/campus"
	"fiberlab/tests/internal/forkwork"
)

// begin starts f as a task, or on a goroutine, which all waits for.
func (x *shift) begin(all *sync.WaitGroup, task bool, f func()) {
	all.Add(1)
	body := func() {
		defer all.Done()
		f()
	}
	if !task {
		go body()
	} else if !assert.NoError(x, x.s.Go(body)) {
		all.Done()
	}
}

// primitives lets visitors walk over a campus.
func (x *shift) primitives(p *part, rng *rand.Rand) {
	c := campus.New(x, x.s)
	p.state = c.String
	c.Open(1+rng.IntN(60), 1+rng.IntN(10), rng)
	for !x.ending.Load() {
		time.Sleep(time.Millisecond)
		p.progress.Store(c.Progress.Load())
	}
	c.Close()
}

// tasks submits tasks from goroutines and from tasks, some of which sleep, yield or submit others. None is lost.
func (x *shift) tasks(p *part, rng *rand.Rand) {
	var sent, done atomic.Int64
	var task func(seed uint64) func()
	submit := func(seed uint64) {
		sent.Add(1)
		if !assert.NoError(x, x.s.Go(task(seed))) {
			sent.Add(-1)
		}
	}
	task = func(seed uint64) func() {
		return func() {
			defer p.progress.Add(1)
			defer done.Add(1)
			switch seed % 8 {
			case 0:
				sched.Sleep(time.Duration(seed % 1000 * 1000))
			case 1, 2:
				sched.Yield()
			case 3:
				submit(seed >> 3)
			}
		}
	}
	for !x.ending.Load() {
		for range 1 + rng.IntN(200) {
			submit(rng.Uint64())
		}
		for few := rng.Int64N(200); sent.Load()-done.Load() > few; {
			time.Sleep(10 * time.Microsecond)
		}
		if rng.IntN(4) == 0 {
			time.Sleep(time.Duration(rng.IntN(2000)) * time.Microsecond)
		}
	}
	for done.Load() < sent.Load() {
		time.Sleep(time.Millisecond)
	}
	assert.Equal(x, sent.Load(), done.Load(), "tasks that were sent, and done")
}

// forks computes by each form of package forkjoin what is computed without forks as well.
func (x *shift) forks(p *part, rng *rand.Rand) {
	pool, err := forkjoin.New(x.s, forkjoin.Config{Form: forkjoin.Forms()[rng.IntN(len(forkjoin.Forms()))]})
	require.NoError(x, err)
	var all sync.WaitGroup
	for range 1 + rng.IntN(3) {
		own := rand.New(rand.NewPCG(rng.Uint64(), 4))
		x.begin(&all, rng.IntN(2) == 0, func() {
			for !x.ending.Load() {
				w := []func() forkwork.Work{
					func() forkwork.Work { return forkwork.Fib(5+own.IntN(12), 0) },
					func() forkwork.Work { return forkwork.Mergesort(100+own.IntN(5000), 0) },
					func() forkwork.Work { return forkwork.Total(1 + own.IntN(50_000)) },
					func() forkwork.Work { return forkwork.Sort(1 + own.IntN(20_000)) },
				}[own.IntN(4)]()
				want := w.Serial()
				for _, way := range []func(*forkjoin.Pool) int{w.Join, w.Typed, w.Loop} {
					if way != nil {
						assert.Equal(x, want, way(pool), w.Name)
						p.progress.Add(1)
					}
				}
			}
		})
	}
	all.Wait()
	assert.NoError(x, pool.Close())
}

// futures submits tasks to a pool that submit others and get them.
func (x *shift) futures(p *part, rng *rand.Rand) {
	pool, err := forkjoin.New(x.s, forkjoin.Config{Form: forkjoin.Forms()[rng.IntN(len(forkjoin.Forms()))]})
	require.NoError(x, err)
	var tree func(pool *forkjoin.Pool, depth int) (int, error)
	tree = func(pool *forkjoin.Pool, depth int) (int, error) {
		p.progress.Add(1)
		if depth == 0 {
			return 1, nil
		}
		left := forkjoin.Submit(pool, func(pool *forkjoin.Pool) (int, error) { return tree(pool, depth-1) })
		right, err := tree(pool, depth-1)
		if depth == 2 && sched.Current() != nil {
			sched.Yield()
		}
		sum, other := left.Get()
		return sum + right, errors.Join(err, other)
	}
	for !x.ending.Load() {
		depth := rng.IntN(8)
		sum, err := forkjoin.Submit(pool, func(pool *forkjoin.Pool) (int, error) { return tree(pool, depth) }).Get()
		assert.NoError(x, err)
		assert.Equal(x, 1<<depth, sum, "leaves of a tree of futures")
	}
	assert.NoError(x, pool.Close())
}

// calls has tasks make blocking calls.
func (x *shift) calls(p *part, rng *rand.Rand) {
	var all sync.WaitGroup
	for range 1 + rng.IntN(10) {
		own := rand.New(rand.NewPCG(rng.Uint64(), 5))
		x.begin(&all, true, func() {
			for !x.ending.Load() {
				want, d := own.Uint64(), time.Duration(own.IntN(500))*time.Microsecond
				got, err := fibersync.Call(func() (uint64, error) {
					time.Sleep(d)
					return want, nil
				})
				assert.NoError(x, err)
				assert.Equal(x, want, got)
				p.progress.Add(1)
			}
		})
	}
	all.Wait()
}

// echo has tasks and goroutines send bytes to tasks, which send them back.
func (x *shift) echo(p *part, rng *rand.Rand) {
	ctx := context.Background()
	l, err := fiberio.Listen(ctx, x.engines, "tcp", "127.0.0.1:0")
	require.NoError(x, err)
	var servers, clients sync.WaitGroup
	x.begin(&servers, true, func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if !assert.NoError(x, err) {
				return
			}
			x.begin(&servers, true, func() {
				_, err := io.Copy(c, c)
				assert.NoError(x, err)
				assert.NoError(x, c.Close())
			})
		}
	})
	for range 1 + rng.IntN(6) {
		own := rand.New(rand.NewPCG(rng.Uint64(), 6))
		x.begin(&clients, rng.IntN(2) == 0, func() {
			for !x.ending.Load() {
				c, err := fiberio.Dial(ctx, x.engines, "tcp", l.Addr().String())
				if !assert.NoError(x, err) {
					return
				}
				sent := make([]byte, 1+own.IntN(20_000))
				for i := range sent {
					sent[i] = byte(own.Uint32())
				}
				_, err = c.Write(sent)
				assert.NoError(x, err)
				assert.NoError(x, c.CloseWrite())
				got, err := io.ReadAll(c)
				assert.NoError(x, err)
				assert.True(
					x, bytes.Equal(sent, got), "%d bytes were sent, %d others have come back", len(sent), len(got),
				)
				assert.NoError(x, c.Close())
				p.progress.Add(1)
			}
		})
	}
	clients.Wait()
	assert.NoError(x, l.Close())
	servers.Wait()
}

// fibers makes fibers without a scheduler, some of which go from one thread to another.
func (x *shift) fibers(p *part, rng *rand.Rand) {
	backend := fiber.Backends()[rng.IntN(len(fiber.Backends()))]
	for !x.ending.Load() {
		fibers := make([]*fiber.Fiber, 1+rng.IntN(40))
		var root *fiber.Fiber
		for i := range fibers {
			f, err := fiber.New(fiber.Config{Name: "of the soak", Backend: backend}, func() {
				for range 3 {
					assert.NoError(x, fiber.Current().SwitchTo(root))
					runtime.KeepAlive(make([]byte, 1000))
				}
			})
			require.NoError(x, err)
			fibers[i] = f
		}
		for range 4 { // on a new goroutine each, and so mostly on other threads
			done := make(chan struct{})
			go func() {
				defer close(done)
				here, err := fiber.Attach(backend)
				require.NoError(x, err)
				root = here
				for _, f := range fibers {
					assert.NoError(x, here.SwitchTo(f))
					p.progress.Add(1)
				}
				assert.NoError(x, here.Detach())
			}()
			<-done
		}
		for _, f := range fibers {
			assert.NoError(x, f.Close())
		}
	}
}
