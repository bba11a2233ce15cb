package fibersync_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"fiberlab/internal/history"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/suite"
)

// lockClients is how many clients make a history of a lock.
const lockClients = 8

// lockPlan is the random choices of one client, and the means to cancel what others do.
type lockPlan struct {
	rng     *rand.Rand
	cancels *[lockClients]atomic.Pointer[context.CancelFunc]
	client  int
}

// lockPlans makes a plan for each client of a history.
func lockPlans(rng *rand.Rand) []*lockPlan {
	plans := make([]*lockPlan, lockClients)
	cancels := new([lockClients]atomic.Pointer[context.CancelFunc])
	for i := range plans {
		plans[i] = &lockPlan{rng: rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64())), cancels: cancels, client: i}
	}
	return plans
}

// maybePause lets others go first, or not.
func (p *lockPlan) maybePause() {
	for range p.rng.IntN(3) {
		pause()
	}
}

// context is a context that another client may cancel, and the function that ends it.
func (p *lockPlan) context() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	p.cancels[p.client].Store(&cancel)
	return ctx, cancel
}

// cancelAny ends a random client's latest context.
func (p *lockPlan) cancelAny() {
	if cancel := p.cancels[p.rng.IntN(lockClients)].Load(); cancel != nil {
		(*cancel)()
	}
}

// lockFace is what the locks have, as a history sees it.
type lockFace interface {
	Lock()
	LockContext(ctx context.Context) error
	TryLock() bool
	Unlock()
}

// lockRun is one history in the making. The register is a plain variable: the race
// detector looks on, too.
type lockRun[L lockFace] struct {
	*history.History[lockDo, lockHad]
	lock     L
	register int

	waiting, waits atomic.Int64 // clients in a call that may wait, and such calls so far
}

// wait notes a call that may wait for the lock.
func (r *lockRun[L]) wait(p *lockPlan, what string, lock func() bool) bool {
	r.waits.Add(1)
	r.waiting.Add(1)
	defer r.waiting.Add(-1)
	return r.note(p, what, 0, func() lockHad { return lockHad{ok: lock()} })
}

// tryLock notes a TryLock, and whether another client may have waited during it.
func (r *lockRun[L]) tryLock(p *lockPlan) bool {
	return r.note(p, "tryLock", 0, func() lockHad {
		before, waited := r.waits.Load(), r.waiting.Load() > 0
		ok := r.lock.TryLock()
		return lockHad{ok: ok, contended: waited || r.waits.Load() != before}
	})
}

func (r *lockRun[L]) note(p *lockPlan, what string, value int, op func() lockHad) bool {
	return r.Do(p.client, lockDo{p.client, what, value}, op).ok
}

// write is one client's turn at the lock, for writing: it adds one to the register.
func (r *lockRun[L]) write(p *lockPlan) {
	var had bool
	switch p.rng.IntN(4) {
	case 0:
		had = r.tryLock(p)
	case 1:
		ctx, cancel := p.context()
		defer cancel()
		had = r.wait(p, "lockContext", func() bool { return r.lock.LockContext(ctx) == nil })
	default:
		had = r.wait(p, "lock", func() bool { r.lock.Lock(); return true })
	}
	if !had {
		return
	}
	value := 0
	r.note(p, "read", 0, func() lockHad { value = r.register; return lockHad{value: value} })
	p.maybePause()
	r.note(p, "write", value+1, func() lockHad { r.register = value + 1; return lockHad{} })
	r.note(p, "unlock", 0, func() lockHad { r.lock.Unlock(); return lockHad{} })
}

// lockHistories has clients take turns with new locks, and judges what they did.
func lockHistories[L lockFace](c *company, newLock func() L, strict bool, turn func(*lockRun[L], *lockPlan)) {
	rng := suite.NewRand(c.t)
	for range suite.Scaled(5, 2) {
		r := &lockRun[L]{History: history.New[lockDo, lockHad](lockClients), lock: newLock()}
		for _, p := range lockPlans(rng) {
			c.start(func() {
				for range 8 {
					turn(r, p)
					p.maybePause()
					p.cancelAny()
				}
			})
		}
		c.wait()
		lockSpec(strict).Check(c.t, r.History)
	}
}

func TestMutexIsLinearizable(t *testing.T) {
	eachCompany(t, func(c *company) {
		lockHistories(
			c, func() *fibersync.Mutex { return new(fibersync.Mutex) }, true, (*lockRun[*fibersync.Mutex]).write,
		)
	})
}

func TestRWMutexIsLinearizable(t *testing.T) {
	eachCompany(t, func(c *company) {
		lockHistories(c, func() *fibersync.RWMutex { return new(fibersync.RWMutex) }, false,
			func(r *lockRun[*fibersync.RWMutex], p *lockPlan) {
				if p.rng.IntN(3) == 0 {
					r.write(p)
				} else {
					lockRead(r, p)
				}
			})
	})
}

// lockRead is one client's turn at the lock for reading.
func lockRead(r *lockRun[*fibersync.RWMutex], p *lockPlan) {
	var had bool
	switch p.rng.IntN(4) {
	case 0:
		had = r.note(p, "tryRLock", 0, func() lockHad { return lockHad{ok: r.lock.TryRLock()} })
	case 1:
		ctx, cancel := p.context()
		defer cancel()
		had = r.note(p, "rlockContext", 0, func() lockHad { return lockHad{ok: r.lock.RLockContext(ctx) == nil} })
	default:
		had = r.note(p, "rlock", 0, func() lockHad { r.lock.RLock(); return lockHad{ok: true} })
	}
	if !had {
		return
	}
	for range 2 {
		r.note(p, "read", 0, func() lockHad { return lockHad{value: r.register} })
		p.maybePause()
	}
	r.note(p, "runlock", 0, func() lockHad { r.lock.RUnlock(); return lockHad{} })
}
