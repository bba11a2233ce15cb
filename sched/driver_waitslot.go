package sched

import (
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"

	"fiberlab/internal/clock"
	"fiberlab/internal/spinlock"
)

// waitSlot is where one thread sleeps. It counts wakes, so none is lost: a wake that comes before the wait ends that
// wait at once. A count below 0 can only come of a second thread that waits; wake and wait panic then.
type waitSlot struct {
	count atomic.Uint32 // 1 at first; 0 while the owner sleeps; more: wakes that no wait has used up

	blocker blocker // the owner sleeps in it; nil: on a futex
}

func (s *waitSlot) init() { s.count.Store(1) }

// wake ends the owner's wait, or the next one. Any thread may call it; it does not block.
func (s *waitSlot) wake() {
	switch count := int32(s.count.Add(1)); {
	case count == 1:
		s.wakeOwner()
	case count < 1:
		s.misused(count)
	}
}

// misused reports that the count is wrong: wakes would be lost from now on.
func (s *waitSlot) misused(count int32) {
	panic(fmt.Sprintf("sched: the count of a wait slot is %d: more than one thread waits in it", count))
}

func (s *waitSlot) wakeOwner() {
	if s.blocker != nil {
		s.blocker.Wake()
	} else {
		futexWakeOne(&s.count)
	}
}

// persistentWake ends the owner's wait, and all later ones at once. Any thread may call it; it does not block.
func (s *waitSlot) persistentWake() {
	s.count.Store(persistent)
	s.wakeOwner()
}

// persistent is more than all waits of a slot use up.
const persistent = 1 << 30

// wait blocks the owner's thread until wake has been called once more than wait before, or until limit has passed; a negative limit is none.
// brief says that it is expected to be soon.
func (s *waitSlot) wait(limit time.Duration, brief bool) {
	switch count := int32(s.count.Add(^uint32(0))); {
	case count > 0:
		return
	case count < 0:
		s.misused(count)
	}
	if s.blocker != nil {
		s.blocker.Wait(limit, brief)
		s.count.CompareAndSwap(0, 1) // it may be that no thread has woken it
		return
	}
	until := clock.Never
	if limit >= 0 {
		until = clock.After(limit)
	}
	for {
		futexSleep(&s.count, 0, limit, brief)
		if s.count.Load() > 0 {
			return
		}
		// No thread has woken it: a signal has, or the time has passed.
		if until == clock.Never {
			continue
		}
		limit = time.Duration(until - clock.Now())
		// A wake may come at this very moment. Then the count is 1 already, and must not become 2.
		if limit <= 0 && s.count.CompareAndSwap(0, 1) {
			return
		}
		limit = max(limit, 0)
	}
}

// slotDriver is the driver of the workers of scheduling groups: the worker spins for a fixed time, and then sleeps in a wait slot. After a long sleep it
// only looks: what came late is likely to come late again, and with a task twice a millisecond spins would take a percent of a processor.
type slotDriver struct {
	_ [2]cpu.CacheLinePad // others write the word and the slot: 128 bytes from the rest, see masks
	countWord
	slot  waitSlot
	_     [2]cpu.CacheLinePad
	slept clock.Instant // for how long it slept last; 0: it has not
	serve func()        // does what falls to a worker that spins, see group.serve
}

// sleepIn implements sleeper.
func (d *slotDriver) sleepIn(b blocker) { d.slot.blocker = b }

func newSlotDriver() *slotDriver {
	d := new(slotDriver)
	d.slot.init()
	return d
}

// pausesPerPoll is how many pauses a spinning worker makes between two polls.
const pausesPerPoll = 16

func (d *slotDriver) spin(until clock.Instant, seek func() bool) {
	if d.slept >= longestSpin {
		seek()
		return
	}
	now := clock.Now()
	for end := min(now+clock.Instant(spinTime), until); !seek() && now < end; {
		for next := now + clock.Instant(lookTime); now < next; now = clock.Now() {
			if d.notified() || d.slot.blocker != nil && d.slot.blocker.Ready() {
				return
			}
			d.serve()
			for range pausesPerPoll {
				spinlock.Pause()
			}
		}
	}
}

func (d *slotDriver) sleep(limit time.Duration) {
	began := clock.Now()
	d.slot.wait(limit, d.slept > 0 && d.slept < longestSpin)
	d.slept = clock.Now() - began
	d.work()
}

func (d *slotDriver) notify() bool {
	idle, asleep := d.tell()
	if asleep {
		d.slot.wake()
	}
	return idle
}

func (d *slotDriver) stop() {
	d.word.Store(countNotified)
	d.slot.persistentWake()
}

// waking is false: under scheduling groups nothing waits for a worker in particular.
func (d *slotDriver) waking() bool { return false }
