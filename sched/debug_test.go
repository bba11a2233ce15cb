//go:build debug

package sched

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/internal/clock"
)

// idleWorker is a worker whose thread has not been started.
func idleWorker() (*Worker, *Fiber) {
	w := newWorker(&Scheduler{cfg: Config{Name: "planted"}}, 3, multiThreaded)
	return w, &Fiber{worker: w, id: 5}
}

func TestIllegalTransitionIsCaught(t *testing.T) {
	w, f := idleWorker()
	w.work.lock()
	defer w.work.unlock()
	f.state = Yielded
	require.PanicsWithValue(t, "sched: planted worker 3 fiber 5: illegal transition Yielded -> Running (resume)",
		func() { w.change(f, Running, WhyResume) })
	require.Equal(t, Yielded, f.state)
	require.Panics(t, func() { w.change(f, Queued, WhyTimeout) }, "the cause is wrong")
	w.change(f, Queued, WhyNotify)
	require.Equal(t, Queued, f.state)
}

func TestBrokenLockContractIsCaught(t *testing.T) {
	w, f := idleWorker()
	require.PanicsWithValue(t, "sched: lock contract broken: change of state without the worker's lock",
		func() { w.change(f, Running, WhyCarry) })
	require.PanicsWithValue(t, "sched: lock contract broken: unlock without the worker's lock", w.work.unlock)
	require.True(t, w.work.tryLock())
	require.False(t, w.work.tryLock())
	w.work.unlock()
}

// Every function that wants the worker's lock says so to who calls it without.
func TestEveryLockContractIsChecked(t *testing.T) {
	w, f := idleWorker()
	for what, call := range map[string]func(){
		"answer":               w.answer,
		"block":                func() { w.block(f, clock.Never) },
		"endFibers":            w.endFibers,
		"enqueueFiberTimeouts": w.enqueueFiberTimeouts,
		"fiberIsNext":          func() { w.fiberIsNext() },
		"finished":             func() { w.finished() },
		"giveWay":              func() { w.giveWay(f, f) },
		"hasWork":              func() { w.hasWork() },
		"exhaust":              func() { w.exhaust(ErrNilTask) },
		"makeIdle":             w.makeIdle,
		"makeSuccessor":        func() { w.makeSuccessor() },
		"look":                 w.look,
		"mayBegin":             func() { w.mayBegin() },
		"next":                 func() { w.next() },
		"nextTask":             func() { w.nextTask() },
		"passOn":               w.passOn,
		"resume":               func() { w.resume(f) },
		"run":                  w.run,
		"runOthers":            w.runOthers,
		"runUntilIdle":         w.runUntilIdle,
		"runUntilShutdown":     w.runUntilShutdown,
		"sleep":                w.sleep,
		"successor":            func() { w.successor() },
		"suspend":              func() { w.suspend(clock.Never) },
		"switchTo":             func() { w.switchTo(f) },
		"waitForWork":          w.waitForWork,
		"wake":                 func() { w.wake(f) },
	} {
		require.PanicsWithValue(t, "sched: lock contract broken: "+what+" without the worker's lock", call)
	}
}

// A task that holds its worker's lock may neither take it again nor notify one of the
// worker's fibers; and another worker's lock is not its own.
func TestLockContractsInTasks(t *testing.T) {
	for _, b := range fiber.Backends() {
		s, err := New(Config{Workers: 2, Backend: b})
		require.NoError(t, err)
		var again, notify, foreign any
		caught := func(do func()) (r any) {
			defer func() { r = recover() }()
			do()
			return nil
		}
		done := make(chan struct{})
		require.NoError(t, s.Enqueue(Task{Func: func() {
			defer close(done)
			f := Current()
			w := f.worker
			w.work.lock()
			again = caught(w.work.lock)
			notify = caught(f.Notify)
			w.work.unlock()
			foreign = caught(s.workers[1-w.id].work.unlock)
		}}))
		<-done
		require.NoError(t, s.Close())
		held := "sched: lock contract broken: lock while the worker's lock is held"
		require.Equal(t, held, again, "%v", b)
		require.Equal(t, held, notify, "%v", b)
		require.Equal(t, "sched: lock contract broken: unlock without the worker's lock", foreign, "%v", b)
	}
}
