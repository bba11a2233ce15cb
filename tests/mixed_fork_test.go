package tests

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/fiber"
	"fiberlab/sched/mixed"
	"fiberlab/sched/park"
)

// If nothing can be started, the caller does it all.
func TestMixedParallelizeWithoutAScheduler(t *testing.T) {
	asHelpless(t, func() {
		me, calls := fiber.Self(), 0
		f := func() {
			assert.Equal(t, me, fiber.Self())
			calls++
		}
		mixed.Parallelize(f, f, f)
		assert.Equal(t, 3, calls)
	})
}

// hoarder is a party that starts nothing before it parks.
type hoarder struct {
	park.Party
	queue []func()
	most  int
	token bool
}

func (h *hoarder) Start(f func()) error {
	h.queue = append(h.queue, f)
	h.most = max(h.most, len(h.queue))
	return nil
}

func (h *hoarder) Unpark() { h.token = true }

func (h *hoarder) Park(time.Time) {
	for ; !h.token && len(h.queue) > 0; h.queue = h.queue[1:] {
		h.queue[0]()
	}
	h.token = false
}

// A caller that does everything itself must not fill its scheduler's queue without bound.
func TestMixedParallelizeLetsTheQueueComeRound(t *testing.T) {
	const most = 5000
	forks := scaled(100_000, 2*most)
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		h := &hoarder{}
		root.SetValue(h)
		calls := 0
		f := func() { calls++ }
		for range forks {
			mixed.Parallelize(f, f)
		}
		root.SetValue(nil)
		assert.Equal(t, 2*forks, calls)
		assert.Less(t, h.most, most)
		for _, f := range h.queue {
			f()
		}
	})
}
