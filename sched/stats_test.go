package sched

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/internal/idle"
)

// A worker is busy while a task computes, and idle while there is none.
func TestBusyAndIdle(t *testing.T) {
	s, err := New(Config{Workers: 1})
	require.NoError(t, err)
	read := func() WorkerStats { return s.Stats().Workers[0] }
	begun, end := make(chan struct{}), make(chan struct{})
	require.NoError(t, s.Go(func() {
		close(begun)
		<-end // blocks the thread: the worker is busy
	}))
	<-begun
	a := read()
	time.Sleep(5 * time.Millisecond)
	b := read()
	assert.Equal(t, a.Idle, b.Idle)
	assert.GreaterOrEqual(t, b.Busy-a.Busy, 5*time.Millisecond)
	close(end)
	for !s.asleepAll() {
		time.Sleep(time.Millisecond)
	}
	a = read()
	time.Sleep(5 * time.Millisecond)
	b = read()
	assert.Equal(t, a.Busy, b.Busy)
	assert.GreaterOrEqual(t, b.Idle-a.Idle, 5*time.Millisecond)
	require.NoError(t, s.Close())
}

// asleepAll reports whether all workers sleep.
func (s *Scheduler) asleepAll() bool {
	for _, w := range s.workers {
		if !w.word.Asleep() {
			return false
		}
	}
	return true
}

// A task that is given to a worker is begun by that one, however idle the others are, and however long it
// takes. So each worker begins its share, also if only one of them is awake at the time.
func TestEnqueueOn(t *testing.T) {
	const workers, each = 3, 50
	for _, b := range fiber.Backends() {
		s, err := New(Config{Workers: workers, Backend: b})
		require.NoError(t, err)
		// All but the last are kept busy, so that this one alone could take what is theirs.
		begun, end := make(chan struct{}), make(chan struct{})
		for i := range workers - 1 {
			require.NoError(t, s.EnqueueOn(i, Task{Func: func() {
				begun <- struct{}{}
				<-end
			}}))
			<-begun
		}
		var mu sync.Mutex
		var ran [workers]int
		var last sync.WaitGroup
		last.Add(each)
		for i := range workers * each {
			worker := i % workers
			require.NoError(t, s.EnqueueOn(worker, Task{Func: func() {
				defer last.Done()
				mu.Lock()
				defer mu.Unlock()
				if assert.Equal(t, worker, Current().Worker().ID()) {
					ran[worker]++
				}
			}}))
			if worker != workers-1 {
				last.Add(1)
			}
			if i == workers*each/2 {
				time.Sleep(3 * idle.LongestWake) // the last one looks for work to steal
			}
		}
		mu.Lock()
		assert.Equal(t, [2]int{}, [2]int(ran[:2]), "busy workers have begun none")
		mu.Unlock()
		close(end)
		last.Wait()
		require.NoError(t, s.Close())
		assert.Equal(t, [workers]int{each, each, each}, ran)
		stats := s.Stats()
		assert.Zero(t, stats.Stolen)
	}
}

func TestEnqueueOnRefuses(t *testing.T) {
	s, err := New(Config{Name: "refusing", Workers: 2})
	require.NoError(t, err)
	require.ErrorIs(t, s.EnqueueOn(0, Task{}), ErrNilTask)
	for _, worker := range []int{-1, 2} {
		err := s.EnqueueOn(worker, Task{Func: func() {}})
		require.ErrorIs(t, err, ErrNoSuchWorker)
		require.ErrorContains(t, err, "refusing, which has 2")
	}
	var inside error
	require.NoError(t, s.EnqueueOn(1, Task{Func: func() {
		Sleep(time.Millisecond) // Close has begun
		inside = s.EnqueueOn(1, Task{Func: func() {}})
	}}))
	require.NoError(t, s.Close())
	require.NoError(t, inside)
	require.EqualValues(t, 2, s.Stats().Tasks)
	require.ErrorIs(t, s.EnqueueOn(0, Task{Func: func() {}}), ErrClosed)
}

func TestRun(t *testing.T) {
	for _, b := range fiber.Backends() {
		for _, workers := range []int{0, 1, 2} {
			var s *Scheduler
			var ran [2]bool
			require.NoError(t, Run(Config{Workers: workers, Backend: b}, func() {
				s = Get()
				ran[0] = true
				assert.NoError(t, s.Go(func() {
					Yield()
					ran[1] = true
				}))
			}))
			require.Equal(t, [2]bool{true, true}, ran)
			require.ErrorIs(t, s.Close(), ErrClosed)
			require.Nil(t, Get())
		}
	}
	require.ErrorIs(t, Run(Config{Workers: -1}, func() {}), ErrNegative)
	require.ErrorIs(t, Run(Config{}, nil), ErrNilTask)
	require.NoError(t, Run(Config{}, func() {
		assert.ErrorIs(t, Run(Config{}, func() {}), ErrBound)
	}))
}

// A panic of the function comes to the caller, and nothing is left behind.
func TestRunOfAPanic(t *testing.T) {
	for _, workers := range []int{0, 1} {
		var s *Scheduler
		ended := false
		require.PanicsWithValue(t, "planted", func() {
			_ = Run(Config{Workers: workers}, func() {
				s = Get()
				assert.NoError(t, s.Go(func() { ended = true }))
				panic("planted")
			})
		})
		require.True(t, ended)
		require.Nil(t, Get())
		require.ErrorIs(t, s.Close(), ErrClosed)
	}
}

// Run reports tasks that are deadlocked, and they can still be woken.
func TestRunReportsADeadlock(t *testing.T) {
	for _, workers := range []int{0, 1} {
		var s *Scheduler
		f := newFlag()
		err := Run(Config{Workers: workers, GiveUpAfter: time.Millisecond}, func() {
			s = Get()
			assert.NoError(t, s.Go(f.await))
		})
		require.ErrorIs(t, err, ErrDeadlock)
		f.raise()
		if workers == 0 {
			require.NoError(t, Unbind())
		}
		require.NoError(t, s.Close())
	}
}

// A deadlock report has the names of tasks, and none of earlier tasks.
func TestADeadlockNamesTasks(t *testing.T) {
	s, err := New(Config{Workers: 1, GiveUpAfter: time.Millisecond})
	require.NoError(t, err)
	f, g, h := newFlag(), newFlag(), newFlag()
	require.NoError(t, s.Enqueue(Task{Name: "short", Func: func() {}}))
	require.NoError(t, s.Enqueue(Task{Name: "named", Func: f.await}))
	require.NoError(t, s.Enqueue(Task{Name: "another", Func: g.await}))
	require.NoError(t, s.Enqueue(Task{Func: h.await}))
	var deadlock *Deadlock
	require.ErrorAs(t, s.Close(), &deadlock)
	var tasks []string
	for _, b := range deadlock.Fibers {
		tasks = append(tasks, b.Task)
	}
	require.ElementsMatch(t, []string{"named", "another", ""}, tasks)
	require.ErrorContains(t, deadlock, " (another): Yielded")
	for _, flag := range []*flag{f, g, h} {
		flag.raise()
	}
	require.NoError(t, s.Close())
}
