package sched_test

import (
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/child"
)

// Calls of Go that block the thread of the only worker, which others need.
var (
	childGoChannel = watched("a Go channel between two tasks", func(sched.Config) {
		c := make(chan int)
		var over fibersync.WaitGroup
		over.Go(func() { <-c })
		over.Go(func() { c <- 1 })
		over.Wait()
	})
	childGoMutex = watched("a Go mutex over a sleep", func(sched.Config) {
		var m sync.Mutex
		var over fibersync.WaitGroup
		for range 2 {
			over.Go(func() {
				m.Lock()
				defer m.Unlock()
				sched.Sleep(time.Second / 2) // until then the other one has begun
			})
		}
		over.Wait()
	})
	childGoNet = watched("a connection of package net", func(sched.Config) {
		here, _ := net.Listen("tcp", "127.0.0.1:0")
		there, _ := net.Dial("tcp", here.Addr().String())
		var over fibersync.WaitGroup
		over.Go(func() { _, _ = there.Read(make([]byte, 1)) })
		over.Go(func() {
			answer, _ := here.Accept()
			_, _ = answer.Write([]byte{1})
		})
		over.Wait()
	})
	childGoPipe = watched("a system call", func(sched.Config) {
		r, w, _ := os.Pipe()
		blocking := os.NewFile(r.Fd(), "pipe") // Fd makes it a blocking one
		var over fibersync.WaitGroup
		over.Go(func() { _, _ = blocking.Read(make([]byte, 1)) })
		over.Go(func() { _, _ = w.Write([]byte{1}) })
		over.Wait()
	})
	childGoSleep = watched("a sleep of package time", func(sched.Config) {
		var over fibersync.WaitGroup
		over.Go(func() { time.Sleep(time.Hour) })
		over.Go(func() {})
		over.Wait()
	})
	childRunBlocks = watched("the function of Run, without workers", func(sched.Config) {
		c := make(chan int)
		_ = sched.Schedule(func() { c <- 1 })
		<-c
	})
)

// A worker that a call of Go blocks, and that others need, is reported with the place and the cure.
func TestStallIsReported(t *testing.T) {
	for workers, names := range [][]string{
		{childRunBlocks},
		{childGoChannel, childGoMutex, childGoNet, childGoPipe, childGoSleep},
	} {
		runWatched(t, workers, names, func(t *testing.T, name string, cfg sched.Config) {
			out := child.RunCrash(t, name, cfg.Backend, child.Env(cfg), envShortWatchdog+"=1")
			assert.Contains(
				t, out, "stalled: scheduler: worker 0 has been in one task for 1s, in a call that blocks the thread",
			)
			assert.Contains(t, out, "use a primitive of package fibersync (Channel, Select, Sleep, Mutex), or make the call by "+
				"fibersync.BlockingCall")
			assert.Contains(t, out, "stall_test.go:")
		})
	}
}

// What is no stall, although it takes longer than the watchdog of the child waits.
var (
	childComputes = watched("a task computes", func(sched.Config) {
		var over fibersync.WaitGroup
		over.Go(func() {
			for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
			}
		})
		over.Go(func() {})
		over.Wait()
	})
	childBlocksAlone = watched("a task blocks its thread, and no other needs it", func(sched.Config) {
		var over fibersync.WaitGroup
		over.Go(func() { time.Sleep(3 * time.Second) })
		for i := range 300 {
			over.Go(func() { sched.Sleep(time.Duration(i) * 10 * time.Millisecond) })
			sched.Sleep(10 * time.Millisecond)
		}
		over.Wait()
	})
	childComputesForRun = watched("a task computes, and the function of Run waits by Go", func(sched.Config) {
		over, done := fibersync.NewLatch(1), make(chan int)
		_ = sched.Schedule(func() {
			over.Wait()
			close(done)
		})
		_ = sched.Schedule(func() {
			for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
			}
			over.CountDown()
		})
		_ = sched.Schedule(func() {}) // waits for the worker
		<-done
	})
	childRunWaits = watched("the function of Run waits for goroutines", func(sched.Config) {
		done := make(chan int)
		go func() {
			time.Sleep(3 * time.Second)
			close(done)
		}()
		<-done
	})
)

func TestWhatIsNoStall(t *testing.T) {
	runOK := func(t *testing.T, name string, cfg sched.Config) {
		child.RunOK(t, name, cfg.Backend, child.Env(cfg), envShortWatchdog+"=1")
	}
	runWatched(t, 1, []string{childComputes, childComputesForRun, childRunWaits}, runOK)
	// where others serve what such a worker leaves
	for _, policy := range []sched.Policy{sched.RoundRobin, sched.Group} {
		t.Run(policy.String(), func(t *testing.T) {
			t.Parallel()
			runOK(t, childBlocksAlone, sched.Config{Workers: 4, Policy: policy})
		})
	}
}
