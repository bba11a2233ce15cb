package sched_test

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fiberlab/sched"
)

func (p *program) check(ok bool, format string, args ...any) {
	if !ok {
		p.t.Errorf(format, args...)
	}
}

func (p *program) schedule(task *modelTask) {
	if f := sched.Current(); f != nil && task.flags&sched.SameThread != 0 {
		task.by, task.thread = f.Worker(), unix.Gettid()
	}
	err := sched.Get().Enqueue(sched.Task{Func: func() { p.live(task) }, Flags: task.flags})
	p.check(err == nil, "schedule: %v", err)
}

// live is a task.
func (p *program) live(task *modelTask) {
	f := sched.Current()
	p.check(task.ran.Add(1) == 1, "a task runs for the second time")
	p.check(task.by == nil || task.by == f.Worker(), "a SameThread task runs on another worker")
	p.check(task.by == nil || !p.hasThreads || task.thread == unix.Gettid(), "a SameThread task runs on another thread")
	p.mu.Lock()
	p.known = append(p.known, f)
	p.mu.Unlock()
	begun := unix.Gettid()
	for _, s := range task.steps {
		p.perform(f, s)
		p.check(!p.tasksStay || unix.Gettid() == begun, "a task of %v has moved to another thread", f)
		p.progress.Add(1)
		p.check(sched.Current() == f, "a task has moved from %v to %v", f, sched.Current())
		p.check(f.State() == sched.Running, "%v runs and is %v", f, f.State())
		if p.keepThreads {
			tid := unix.Gettid()
			thread, _ := p.threads.LoadOrStore(f.Worker(), tid)
			p.check(thread == tid, "%v runs on thread %d instead of %d", f, tid, thread)
		}
	}
}

func (p *program) perform(f *sched.Fiber, s step) {
	began := time.Now()
	switch s.do {
	case doYield:
		sched.Yield()
	case doSleep:
		sched.Sleep(s.d)
		p.check(time.Since(began) >= s.d, "%v slept %v instead of %v", f, time.Since(began), s.d)
	case doSchedule:
		p.schedule(s.child)
	case doRaise:
		s.cell.raise()
	case doRaiseOutside:
		p.plain.Add(1)
		go func() {
			defer p.plain.Done()
			s.cell.raise()
		}()
	case doWait:
		p.check(
			s.cell.wait(f, int(s.share*float64(s.cell.total)), -1),
			"%v: Wait returned where the predicate does not hold", f,
		)
	case doWaitFor:
		ok := s.cell.wait(f, int(s.share*float64(s.cell.total))+s.pick%2, s.d)
		p.check(ok || time.Since(began) >= s.d, "%v: WaitFor gave up after %v instead of %v", f, time.Since(began), s.d)
	case doWaitBare:
		ok := f.WaitFor(nil, s.d, nil)
		p.check(ok || time.Since(began) >= s.d, "%v: WaitFor gave up after %v instead of %v", f, time.Since(began), s.d)
	case doMeet:
		var mu sync.Mutex
		mu.Lock()
		met := sched.Task{Flags: sched.Flags(s.pick % 2), Func: func() {
			mu.Lock() // which f releases when it is blocked
			f.Notify()
			mu.Unlock()
		}}
		err := sched.Get().Enqueue(met)
		p.check(err == nil, "schedule: %v", err)
		f.Wait(&mu, nil)
		mu.Unlock()
	case doPoke:
		p.mu.Lock()
		other := p.known[s.pick%len(p.known)]
		p.mu.Unlock()
		other.Notify()
	case doCollect:
		runtime.GC()
	}
}
