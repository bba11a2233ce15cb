package sched_test

import (
	"runtime"
	"sync"
	"testing"

	"fiberlab/sched"
	"fiberlab/tests/internal/busy"
	"fiberlab/tests/internal/schedtest"
)

// table is where two players take turns, round after round, each of which is one player's.
type table struct {
	mu    sync.Mutex
	turn  int // 0 or 1
	seats [2]*sched.Fiber
}

// play is one player's part: it waits for its turn, then gives it to the other one, so many times.
func (t *table) play(seat, times int) {
	me := sched.Current()
	mine := func() bool { return t.turn == seat && t.seats[1-seat] != nil }
	t.mu.Lock()
	t.seats[seat] = me
	if other := t.seats[1-seat]; other != nil {
		other.Notify()
	}
	for range times {
		me.Wait(&t.mu, mine)
		t.turn = 1 - seat
		t.seats[1-seat].Notify()
	}
	t.mu.Unlock()
}

// BenchmarkPingPong has two fibers that wait with a predicate and notify each other. An op is one time that one of them
// has waited and continues. With one worker it is a switch of fibers. With two workers, each of which has one of the
// fibers, it wakes another thread. The rivals are two goroutines with a sync.Cond each, which may run on one thread
// (goroutines), or are locked to a thread each (threads).
func BenchmarkPingPong(b *testing.B) {
	schedtest.BenchOn(b, []int{1}, playAnywhere)
	schedtest.BenchOn(b, []int{2}, playOnTwoWorkers)
	b.Run(schedtest.Goroutines, func(b *testing.B) { playOnGoroutines(b, false) })
	b.Run("threads", func(b *testing.B) { playOnGoroutines(b, true) })
}

// BenchmarkPingPongAnywhere is BenchmarkPingPong on two workers, with the fibers where the policy has them: neither is
// pinned.
func BenchmarkPingPongAnywhere(b *testing.B) {
	schedtest.BenchOn(b, []int{2}, playAnywhere)
	b.Run(schedtest.Goroutines, func(b *testing.B) { playOnGoroutines(b, false) })
}

// BenchmarkPingPongBusy is BenchmarkPingPong across two workers while another process keeps one processor busy.
func BenchmarkPingPongBusy(b *testing.B) {
	defer busy.Process(b)()
	schedtest.BenchOn(b, []int{2}, playOnTwoWorkers)
	b.Run(schedtest.Goroutines, func(b *testing.B) { playOnGoroutines(b, false) })
	b.Run("threads", func(b *testing.B) { playOnGoroutines(b, true) })
}

func playAnywhere(b *testing.B, s *sched.Scheduler) {
	var t table
	c := schedtest.NewCountdown(2)
	times := (b.N + 1) / 2
	b.ResetTimer()
	schedtest.Enqueue(b, s, func() { t.play(0, times); c.Done() })
	schedtest.Enqueue(b, s, func() { t.play(1, times); c.Done() })
	c.Wait()
	b.StopTimer()
}

func playOnTwoWorkers(b *testing.B, s *sched.Scheduler) {
	var t table
	times := (b.N + 1) / 2
	b.ResetTimer()
	onEachWorker(b, s, func() { t.play(0, times) }, func() { t.play(1, times) })
	b.StopTimer()
}

func playOnGoroutines(b *testing.B, locked bool) {
	var mu sync.Mutex
	turn := 0
	conds := [2]*sync.Cond{sync.NewCond(&mu), sync.NewCond(&mu)}
	c := schedtest.NewCountdown(2)
	times := (b.N + 1) / 2
	b.ResetTimer()
	for seat := range conds {
		go func() {
			defer c.Done()
			if locked {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
			}
			mu.Lock()
			defer mu.Unlock()
			for range times {
				for turn != seat {
					conds[seat].Wait()
				}
				turn = 1 - seat
				conds[1-seat].Signal()
			}
		}()
	}
	c.Wait()
	b.StopTimer()
}
