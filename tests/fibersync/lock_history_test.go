package fibersync_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/suite"
)

// lockParties is how many parties make a history of a lock.
const lockParties = 8

// lockPlan is the random choices of one party, and the means to cancel what others do.
type lockPlan struct {
	rng     *rand.Rand
	cancels *[lockParties]atomic.Pointer[context.CancelFunc]
	party   int
}

// lockPlans makes a plan for each party of a history.
func lockPlans(rng *rand.Rand) []*lockPlan {
	plans := make([]*lockPlan, lockParties)
	cancels := new([lockParties]atomic.Pointer[context.CancelFunc])
	for i := range plans {
		plans[i] = &lockPlan{rng: rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64())), cancels: cancels, party: i}
	}
	return plans
}

// maybePause lets others go first, or not.
func (p *lockPlan) maybePause() {
	for range p.rng.IntN(3) {
		pause()
	}
}

// context is one that somebody may cancel, and the function that ends it.
func (p *lockPlan) context() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	p.cancels[p.party].Store(&cancel)
	return ctx, cancel
}

// cancelSomebody ends somebody's latest context.
func (p *lockPlan) cancelSomebody() {
	if cancel := p.cancels[p.rng.IntN(lockParties)].Load(); cancel != nil {
		(*cancel)()
	}
}

// lockFace is what the locks have, as one sees it in a history.
type lockFace interface {
	Lock()
	LockContext(ctx context.Context) error
	TryLock() bool
	Unlock()
}

// lockRun is one history in the making. The register is a plain variable: the race
// detector looks on, too.
type lockRun[L lockFace] struct {
	*history[lockDo, lockHad]
	lock     L
	register int
}

func (r *lockRun[L]) note(p *lockPlan, what string, value int, op func() lockHad) bool {
	return r.do(p.party, lockDo{p.party, what, value}, op).ok
}

// write is one party's turn at the lock, for writing: it adds one to the register.
func (r *lockRun[L]) write(p *lockPlan) {
	var had bool
	switch p.rng.IntN(4) {
	case 0:
		had = r.note(p, "tryLock", 0, func() lockHad { return lockHad{ok: r.lock.TryLock()} })
	case 1:
		ctx, cancel := p.context()
		defer cancel()
		had = r.note(p, "lockContext", 0, func() lockHad { return lockHad{ok: r.lock.LockContext(ctx) == nil} })
	default:
		had = r.note(p, "lock", 0, func() lockHad { r.lock.Lock(); return lockHad{ok: true} })
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

// lockHistories has parties take turns with new locks, and judges what they did.
func lockHistories[L lockFace](c *company, newLock func() L, strict bool, turn func(*lockRun[L], *lockPlan)) {
	rng := suite.NewRand(c.t)
	for range suite.Scaled(5, 2) {
		r := &lockRun[L]{history: newHistory[lockDo, lockHad](lockParties), lock: newLock()}
		for _, p := range lockPlans(rng) {
			c.start(func() {
				for range 8 {
					turn(r, p)
					p.maybePause()
					p.cancelSomebody()
				}
			})
		}
		c.wait()
		lockSpec(strict).check(c.t, r.history)
	}
}

func TestMutexIsLinearizable(t *testing.T) {
	eachCompany(t, func(c *company) {
		lockHistories(c, func() *fibersync.Mutex { return new(fibersync.Mutex) }, true, (*lockRun[*fibersync.Mutex]).write)
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

// lockRead is one party's turn at the lock for reading.
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
