package forkjoin

import (
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/internal/clock"
	"fiberlab/internal/spinlock"
	"fiberlab/sched"
)

// Drainers run the jobs whose results no caller has asked for yet. A drainer is a task of the scheduler. It looks
// for a job, runs it, looks for the next one, and ends when it finds none, or when other tasks need its worker.
//
// A job makes one drainer begin if a worker may have nothing to do and no drainer is looking yet. A drainer that
// has found a job, and was the last one that was looking, does the same for what is left. So there is no crowd,
// and no job is left behind:
//
//	fork:     make the job known,        then load wanting:     a drainer is wanted, start one
//	drainer:  look no more, active--,    then look for a job:   there is one, start a drainer
//
// Both first write and then read, so one of them sees what the other has written. A strand that parks or ends does
// the same as a drainer that ends.

// load counts the strands that run on the workers of one scheduling group, and the drainers that have been started
// there. Workers of one group may have nothing to do while the workers of another group are busy, and groups need
// not steal from one another.
type load struct {
	pool  *shared
	group int   // its number; -1: the goroutines that are bound
	limit int64 // how many workers there are
	most  int64 // how many drainers may go on looking at once
	drain sched.Task
	help  sched.Task // the same, while a strand of its worker waits for what another one runs

	_     cpu.CacheLinePad
	state atomic.Int64 // strands, and drainers that have been started; and oneLooks for each that looks, or will
	_     cpu.CacheLinePad
}

const oneLooks = 1 << 32

func active(state int64) int64  { return state & (oneLooks - 1) }
func looking(state int64) int64 { return state >> 32 }

// wants reports whether a new job needs a drainer: a worker may have nothing to do, and no drainer is looking.
func (l *load) wants(state int64) bool { return state < l.limit }

func (p *shared) setLoads() {
	for _, g := range p.scheduler.Stats().Groups {
		p.loads = append(p.loads, &load{group: g.Group, limit: int64(g.Workers)})
	}
	switch workers := p.scheduler.Workers(); {
	case workers == 0:
		p.loads = []*load{{group: -1, limit: 1}}
	case len(p.loads) == 0:
		p.loads = []*load{{limit: int64(workers)}}
	}
	for _, l := range p.loads {
		l.pool = p
		l.most = min(l.limit, int64(runtime.GOMAXPROCS(0))) / 2 // the other strands need some processors
		l.drain = sched.Task{Func: func() { p.drain(l, false) }, Name: "forkjoin"}
		l.help = sched.Task{Func: func() { p.drain(l, true) }, Name: "forkjoin"}
	}
	p.wanting.Store(uint64(len(p.loads)))
}

// loadOf returns where a strand on f counts: nil if f runs on no worker of the scheduler, or is bound although
// there are others.
func (p *shared) loadOf(f *sched.Fiber) *load {
	if f == nil || sched.Get() != p.scheduler {
		return nil
	}
	group := f.Worker().Group()
	if group < 0 && p.loads[0].group < 0 {
		return p.loads[0]
	}
	if group < 0 {
		return nil
	}
	return p.loads[group]
}

// add changes the state, unless l is nil, and wanting with it. It returns the new state.
func (l *load) add(n int64) (state int64) {
	if l != nil {
		state = l.state.Add(n)
		l.changed(state-n, state)
	}
	return state
}

// changed is called after each change of the state.
func (l *load) changed(before, after int64) {
	switch was, is := l.wants(before), l.wants(after); {
	case is && !was:
		l.pool.wanting.Add(1)
	case was && !is:
		l.pool.wanting.Add(^uint64(0))
	}
}

// claim counts a drainer that looks, if one is wanted.
func (l *load) claim() bool {
	for {
		before := l.state.Load()
		if !l.wants(before) {
			return false
		}
		if after := before + 1 + oneLooks; l.state.CompareAndSwap(before, after) {
			l.changed(before, after)
			return true
		}
	}
}

// call starts a drainer in each group that wants one: the first worker that comes to it has the job. The caller
// has made a job known. It does not block.
func (p *shared) call() {
	if p.wanting.Load() == 0 {
		return
	}
	for _, l := range p.loads {
		if l.claim() {
			p.startDrainer(l, l.drain)
		}
	}
}

// startDrainer has a drainer begin that has been counted. If the scheduler has no room, a goroutine waits for that. If
// it does not accept the drainer, that runs on a goroutine. startDrainer does not block.
func (p *shared) startDrainer(l *load, drain sched.Task) {
	p.running.Add(1)
	enqueue, try := p.scheduler.Enqueue, p.scheduler.TryEnqueue
	if len(p.loads) > 1 {
		enqueue = func(t sched.Task) error { return p.scheduler.EnqueueInGroup(l.group, t) }
		try = func(t sched.Task) error { return p.scheduler.TryEnqueueInGroup(l.group, t) }
	}
	switch err := try(drain); {
	case errors.Is(err, sched.ErrFull):
		go func() {
			err := enqueue(drain)
			for errors.Is(err, sched.ErrOverload) { // a drainer waits for room as long as that takes
				err = enqueue(drain)
			}
			if err != nil {
				drain.Func()
			}
		}()
	case err != nil: // it is closed, or has no workers and the caller is not bound to it
		go drain.Func()
	}
}

// drain is what a drainer does, which is counted in l. If helps is set, it runs while another strand of the worker
// waits, and gives the worker back as soon as that goes on.
func (p *shared) drain(l *load, helps bool) {
	s := p.begin(fiber.Self())
	s.load = l
	p.drainers.Add(1)
	defer s.leave()
	for j := s.look(); j != nil; j = s.look() {
		began := clock.Now()
		if s.hooked {
			s.begin(j, &p.stolen)
		} else {
			s.beginUncounted(j)
		}
		now := clock.Now()
		if s.stole {
			s.ranStolen(now - began)
		}
		if s.hooked && (helps || now-s.turn >= turnTime) && !sched.Alone() {
			return // and a new drainer begins behind the tasks that need the worker
		}
		s.load.add(oneLooks)
	}
}

// look returns a job for s, a drainer that counts as looking, or nil when it is to end.
func (s *strand) look() *job {
	p, l := s.pool, s.load
	j := s.search()
	if l.add(-oneLooks); j != nil && p.wanting.Load() > 0 && p.form.waiting() {
		p.call()
	}
	return j
}

// longestSearch is how long a drainer looks for a job that another strand may bring.
const longestSearch = clock.Instant(200 * time.Microsecond)

// polls is how often it looks whether one has been submitted between two looks at everything else.
const polls = 64

// search claims a job for s, which looks, now or soon. It returns nil if none comes; at once if s may not go on
// looking, if no other strand could bring one, or if other tasks need the worker.
func (s *strand) search() *job {
	p, l := s.pool, s.load
	if s.takesTurn() {
		return nil
	}
	for began := clock.Now(); ; {
		if active(l.state.Load()) > l.limit {
			return nil // strands that had parked have gone on
		}
		s.watch.patient = s.hooked && looking(l.state.Load()) <= l.most && clock.Now()-began <= longestSearch &&
			!p.searching() && !p.closed.Load() && sched.Alone()
		if j := p.form.next(s); j != nil {
			return j
		}
		if !s.watch.patient {
			return nil
		}
		if s.watch.list != nil { // a fork may have to wait for a beat, and another one after that
			began = s.watch.now
		}
		for range polls {
			if p.form.submitted() {
				break
			}
			spinlock.Pause()
		}
		_, _, _ = unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0) // to a thread that may have to bring the job
	}
}

// takesTurn reports whether a strand has let other tasks of s's worker go first. A drainer must not use that turn: the
// strand's forks are for other workers, and the job might hold the worker until the strand brings something.
func (s *strand) takesTurn() bool {
	if !s.hooked {
		return false
	}
	w := sched.Current().Worker()
	return s.pool.atWork.others(s, 0, func(other *strand) bool { return other.yields.Load() == w })
}

// searching reports whether all strands at work are looking for jobs, so that none will bring one.
func (p *shared) searching() bool {
	n := int64(0)
	for _, l := range p.loads {
		n += looking(l.state.Load())
	}
	return int64(p.atWork.len()) <= n
}

// idle reports whether a worker may have nothing to do, at some moment during the call.
func (p *shared) idle() bool {
	for _, l := range p.loads {
		if state := l.state.Load(); l.wants(state) || looking(state) > 0 {
			return true
		}
	}
	return false
}

// beginUncounted is begin on a goroutine. It does not count while j runs, since nothing reports that a goroutine
// waits: another one may be needed to run what it waits for.
func (s *strand) beginUncounted(j *job) {
	l := s.load
	s.load = nil // before j runs: it may call Goexit
	s.pool.deactivate(l, false)
	s.begin(j, &s.pool.stolen)
	l.add(1)
	s.load = l
}

// deactivate says that a strand is active no more, which was counted in l, unless that is nil. If a job waits for
// which no drainer looks, it starts one. So it does if the strand waits for what another one runs: the drainer
// keeps the worker awake, which then goes on at once.
func (p *shared) deactivate(l *load, waits bool) {
	l.add(-1)
	if waits && l != nil && l.most > 0 && l.claim() {
		p.startDrainer(l, l.help)
	} else if p.wanting.Load() > 0 && p.form.waiting() {
		p.call()
	}
}

// gone takes back one that running has counted: a strand, a caller or a drainer. The last one wakes Close.
func (p *shared) gone() {
	if p.running.Add(-1) == 0 && p.closed.Load() {
		p.ended.Signal()
	}
}
