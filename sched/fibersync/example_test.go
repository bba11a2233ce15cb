package fibersync_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

// run calls f as a task of a scheduler with two workers, and returns when all tasks have ended.
func run(f func(s *sched.Scheduler)) {
	if err := sched.Run(sched.Config{Workers: 2}, func() { f(sched.Get()) }); err != nil {
		fmt.Println(err)
	}
}

// A channel with a fiber at one end and a goroutine at the other.
func Example() {
	run(func(s *sched.Scheduler) {
		words := fibersync.NewChannel[string](0)
		s.Go(func() {
			words.Send("hello")
			words.Send("fibers")
			words.Close()
		})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for word := range words.All() {
				fmt.Println(word)
			}
		}()
		fibersync.BlockingCall(func() { <-done })
	})
	// Output:
	// hello
	// fibers
}

func ExampleMutex() {
	run(func(s *sched.Scheduler) {
		var mu fibersync.Mutex
		var g fibersync.WaitGroup
		count := 0
		for range 1000 {
			g.Go(func() {
				mu.Lock()
				defer mu.Unlock()
				count++
			})
		}
		g.Wait()
		fmt.Println(count)
	})
	// Output: 1000
}

func ExampleMutex_LockContext() {
	run(func(s *sched.Scheduler) {
		var mu fibersync.Mutex
		var g fibersync.WaitGroup
		ctx, cancel := context.WithCancelCause(context.Background())
		mu.Lock()
		g.Go(func() {
			cancel(errors.New("the user has gone"))
			fmt.Println(mu.LockContext(ctx))
		})
		g.Wait()
		mu.Unlock()
	})
	// Output: the user has gone
}

func ExampleRWMutex() {
	run(func(s *sched.Scheduler) {
		var mu fibersync.RWMutex
		price := map[string]int{"tea": 3}
		mu.RLock()
		fmt.Println(price["tea"], mu.TryRLock(), mu.TryLock())
		mu.RUnlock()
		mu.RUnlock()
		mu.Lock()
		price["tea"] = 4
		mu.Unlock()
		fmt.Println(price["tea"])
	})
	// Output:
	// 3 true false
	// 4
}

func ExampleCond() {
	run(func(s *sched.Scheduler) {
		var mu fibersync.Mutex
		changed := fibersync.NewCond(&mu)
		level := 0
		s.Go(func() {
			for range 3 {
				mu.Lock()
				level++
				mu.Unlock()
				changed.Signal()
			}
		})
		mu.Lock()
		changed.Await(func() bool { return level == 3 })
		fmt.Println("level", level)
		mu.Unlock()
	})
	// Output: level 3
}

func ExampleChannel() {
	run(func(s *sched.Scheduler) {
		squares := fibersync.NewChannel[int](2)
		s.Go(func() {
			for i := range 4 {
				squares.Send(i * i)
			}
			squares.Close()
		})
		for square := range squares.All() {
			fmt.Println(square)
		}
	})
	// Output:
	// 0
	// 1
	// 4
	// 9
}

func ExampleSelect() {
	run(func(s *sched.Scheduler) {
		words, quit := fibersync.NewChannel[string](0), fibersync.NewChannel[int](0)
		s.Go(func() {
			words.Send("one")
			words.Send("two")
			quit.Close()
		})
		for done := false; !done; {
			_, err := fibersync.Select(context.Background(),
				words.OnReceive(func(word string, ok bool) { fmt.Println(word) }),
				quit.OnReceive(func(int, bool) { done = true }))
			if err != nil {
				fmt.Println(err)
			}
		}
	})
	// Output:
	// one
	// two
}

func ExampleSemaphore() {
	run(func(s *sched.Scheduler) {
		disks := fibersync.NewSemaphore(3)
		disks.Acquire(2)
		fmt.Println(disks.TryAcquire(2))
		disks.Release(2)
		fmt.Println(disks.TryAcquire(2))
	})
	// Output:
	// false
	// true
}

func ExampleAsync() {
	run(func(s *sched.Scheduler) {
		length := fibersync.Async(func() (int, error) { return len("fibers"), nil })
		half := fibersync.Then(length, func(n int, err error) (int, error) { return n / 2, err })
		fmt.Println(half.Get())
	})
	// Output: 3 <nil>
}

// Start many tasks on a scheduler, and join them: Get blocks a goroutine, and parks a fiber. To detach a task, drop its
// future.
func ExampleAsyncOn() {
	s, err := sched.New(sched.Config{Workers: 2, Policy: sched.Group})
	if err != nil {
		fmt.Println(err)
		return
	}
	squares := make([]*fibersync.Future[int], 10)
	for i := range squares {
		squares[i] = fibersync.AsyncOn(s, func() (int, error) { return i * i, nil })
	}
	sum := 0
	for _, f := range squares {
		n, err := f.Get()
		if err != nil {
			fmt.Println(err)
		}
		sum += n
	}
	fmt.Println(sum, s.Close())
	// Output: 285 <nil>
}

// inGroup starts tasks in one scheduling group, for AsyncOn and On.
type inGroup struct {
	s     *sched.Scheduler
	group int
}

func (g inGroup) Go(f func()) error {
	return g.s.EnqueueInGroup(g.group, sched.Task{Func: f, Flags: sched.GroupLocal})
}

// What AsyncOn calls a scheduler is anything that starts tasks: here one scheduling group.
func ExampleAsyncOn_group() {
	s, err := sched.New(sched.Config{Workers: 2, Policy: sched.Group, Groups: sched.Groups{Size: 1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	where := fibersync.AsyncOn(inGroup{s, 1}, func() (int, error) { return sched.Current().Worker().Group(), nil })
	fmt.Println(where.Get())
	fmt.Println(s.Close())
	// Output:
	// 1 <nil>
	// <nil>
}

// Go counts a task from its start to its end, and Wait returns when all have ended.
func ExampleWaitGroup() {
	run(func(s *sched.Scheduler) {
		var g fibersync.WaitGroup
		squares := make([]int, 5)
		for i := range squares {
			g.Go(func() { squares[i] = i * i })
		}
		g.Wait()
		fmt.Println(squares)
	})
	// Output: [0 1 4 9 16]
}

// The first to settle a promise decides its future.
func ExamplePromise() {
	run(func(s *sched.Scheduler) {
		var answer fibersync.Promise[string]
		s.Go(func() { answer.Set("yes") })
		fmt.Println(answer.Future().Get())
		fmt.Println(answer.TrySet("no"))
	})
	// Output:
	// yes <nil>
	// false
}

func ExampleFuture_Done() {
	var answer fibersync.Promise[int]
	go answer.Set(42)
	select {
	case <-answer.Future().Done():
		fmt.Println(answer.Future().Get())
	case <-time.After(time.Minute):
		fmt.Println("late")
	}
	// Output: 42 <nil>
}

func ExampleParallelize() {
	run(func(s *sched.Scheduler) {
		var sum, product int
		fibersync.Parallelize(
			func() { sum = 3 + 4 },
			func() { product = 3 * 4 },
		)
		fmt.Println(sum, product)
	})
	// Output: 7 12
}

func ExampleParallelizeContext() {
	run(func(s *sched.Scheduler) {
		err := fibersync.ParallelizeContext(context.Background(),
			func(ctx context.Context) error { return fibersync.Sleep(ctx, time.Hour) },
			func(ctx context.Context) error { return errors.New("no such page") },
		)
		fmt.Println(err)
	})
	// Output: no such page
}

// A goroutine without a scheduler chooses one.
func ExampleOn() {
	s, err := sched.New(sched.Config{Workers: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = fibersync.On(s, func() {
		fibersync.Parallelize(
			func() { fmt.Println("on the scheduler:", sched.Get() == s) },
			func() {},
		)
	})
	fmt.Println(err, s.Close())
	// Output:
	// on the scheduler: true
	// <nil> <nil>
}

func ExampleDAG() {
	run(func(s *sched.Scheduler) {
		var b fibersync.DAGBuilder[[]int]
		read := b.Node(func(page []int) { page[0] = 10 })
		words := b.Node(func(page []int) { page[1] = page[0] * 2 }, read)
		links := b.Node(func(page []int) { page[2] = page[0] * 3 }, read)
		b.Node(func(page []int) { fmt.Println(page) }, words, links)
		dag, err := b.Build()
		if err != nil {
			fmt.Println(err)
			return
		}
		dag.Run(make([]int, 3))
	})
	// Output: [10 20 30]
}

// The goroutine that makes the call may block its thread; the fiber leaves its own to others.
func ExampleBlockingCall() {
	run(func(s *sched.Scheduler) {
		reply := make(chan string)
		s.Go(func() { go func() { reply <- "pong" }() })
		var text string
		fibersync.BlockingCall(func() { text = <-reply })
		fmt.Println(text)
	})
	// Output: pong
}

func ExampleCall() {
	run(func(s *sched.Scheduler) {
		fmt.Println(fibersync.Call(func() (string, error) { return "a file's text", nil }))
	})
	// Output: a file's text <nil>
}

func ExampleEvent() {
	run(func(s *sched.Scheduler) {
		ready := fibersync.NewEvent(fibersync.ManualReset, false)
		s.Go(ready.Signal)
		ready.Wait()
		fmt.Println(ready.IsSignalled(), ready.WaitFor(time.Hour))
		ready.Clear()
		fmt.Println(ready.IsSignalled())
	})
	// Output:
	// true true
	// false
}

func ExampleWaitAny() {
	run(func(s *sched.Scheduler) {
		var key, mouse fibersync.Event
		s.Go(mouse.Signal)
		fmt.Println("event", fibersync.WaitAny(&key, &mouse))
	})
	// Output: event 1
}

func ExampleLatch() {
	run(func(s *sched.Scheduler) {
		ready := fibersync.NewLatch(3)
		for range 3 {
			s.Go(ready.CountDown)
		}
		ready.Wait()
		fmt.Println(ready.Open())
	})
	// Output: true
}

func ExampleOnce() {
	run(func(s *sched.Scheduler) {
		var once fibersync.Once
		open := func() { once.Do(func() { fmt.Println("opened") }) }
		fibersync.Parallelize(open, open, open)
	})
	// Output: opened
}

func ExampleBarrier() {
	run(func(s *sched.Scheduler) {
		const parties = 3
		b := fibersync.NewBarrier(parties)
		var board [parties]int
		var sums [parties]int
		var g fibersync.WaitGroup
		for i := range parties {
			g.Go(func() {
				board[i] = i + 1
				b.Wait() // all have written
				sums[i] = board[0] + board[1] + board[2]
			})
		}
		g.Wait()
		fmt.Println(sums)
	})
	// Output: [6 6 6]
}

func ExampleBoundedPool() {
	run(func(s *sched.Scheduler) {
		pool := fibersync.NewBoundedPool(1, fibersync.Items[[]byte]{
			Make:  func() []byte { return make([]byte, 0, 64) },
			Reset: func(b *[]byte) { *b = (*b)[:0] },
		})
		loan := pool.Borrow()
		*loan.Get() = append(*loan.Get(), "text"...)
		_, ok := pool.TryBorrow()
		fmt.Println(string(*loan.Get()), ok)
		loan.Return()
		loan = pool.Borrow()
		fmt.Println(len(*loan.Get()))
		loan.Return()
	})
	// Output:
	// text false
	// 0
}

func ExampleUnboundedPool() {
	made := 0
	pool := fibersync.NewUnboundedPool(fibersync.Items[int]{Make: func() int { made++; return made }})
	first, second := pool.Borrow(), pool.Borrow()
	fmt.Println(*first.Get(), *second.Get())
	second.Return()
	fmt.Println(*pool.Borrow().Get())
	// Output:
	// 1 2
	// 2
}

var user fibersync.Local[string]

func ExampleLocal() {
	run(func(s *sched.Scheduler) {
		greet := func() {
			name, _ := user.Get()
			fmt.Println("hello", name)
		}
		user.Set("Ada")
		var g fibersync.WaitGroup
		g.Go(func() {
			user.Set("Bob")
			greet()
		})
		g.Wait()
		greet()
	})
	// Output:
	// hello Bob
	// hello Ada
}

// Work is done in any order, and reported in the order in which it was asked for.
func ExampleTicketQueue() {
	run(func(s *sched.Scheduler) {
		var q fibersync.TicketQueue
		var g fibersync.WaitGroup
		for i := range 3 {
			ticket := q.Take()
			g.Go(func() {
				square := i * i
				ticket.Wait()
				fmt.Println(square)
				ticket.Done()
			})
		}
		g.Wait()
	})
	// Output:
	// 0
	// 1
	// 4
}

func ExampleSleep() {
	run(func(s *sched.Scheduler) {
		ctx, cancel := context.WithCancel(context.Background())
		s.Go(cancel)
		fmt.Println(fibersync.Sleep(ctx, time.Hour))
		fmt.Println(fibersync.Sleep(context.Background(), time.Millisecond))
	})
	// Output:
	// context canceled
	// <nil>
}
