package fibersync_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"fiberlab/internal/history"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/suite"
)

// condQueue is a bounded queue made of a lock and two conditions, each of which is
// signalled once for each change.
type condQueue struct {
	mu              sync.Mutex
	notFull, filled *fibersync.Cond
	values          []byte
}

const condQueueSize = 2

func newCondQueue() *condQueue {
	q := &condQueue{}
	q.notFull, q.filled = fibersync.NewCond(&q.mu), fibersync.NewCond(&q.mu)
	return q
}

func (q *condQueue) hasRoom() bool { return len(q.values) < condQueueSize }

func (q *condQueue) hasValue() bool { return len(q.values) > 0 }

func (q *condQueue) put(v byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.notFull.Await(q.hasRoom)
	q.values = append(q.values, v)
	q.filled.Signal()
}

func (q *condQueue) get() byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.filled.Await(q.hasValue)
	return q.take()
}

// getWithin returns 0 if there was no value in time.
func (q *condQueue) getWithin(d time.Duration) byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.filled.AwaitFor(d, q.hasValue) {
		return 0
	}
	return q.take()
}

func (q *condQueue) take() byte {
	v := q.values[0]
	q.values = q.values[1:]
	q.notFull.Signal()
	return v
}

// condSpec is a queue of bounded length. Its values are not 0.
var condSpec = history.Spec[string, byte, byte]{Step: func(values string, put, got byte) (bool, string) {
	switch {
	case put != 0:
		return len(values) < condQueueSize, values + string(rune(put))
	case got == 0:
		return values == "", values
	default:
		return values != "" && values[0] == got, values[min(1, len(values)):]
	}
}}

// Half of the clients put and half of them get, as much in total; so all waits end.
func TestCondModel(t *testing.T) {
	eachCompany(t, func(c *company) {
		const clients, operations = 8, 30
		rng := suite.NewRand(c.t)
		for range suite.Scaled(3, 1) {
			q, h := newCondQueue(), history.New[byte, byte](clients)
			startClients(c, rng, clients, func(i int, rng *rand.Rand) {
				for left := operations; left > 0; {
					if rng.IntN(3) == 0 {
						pause()
					}
					switch {
					case i%2 == 0:
						v := byte(1 + rng.IntN(100))
						h.Do(i, v, func() byte { q.put(v); return 0 })
						left--
					case rng.IntN(8) > 0:
						h.Do(i, 0, q.get)
						left--
					default:
						d := time.Duration(rng.IntN(100)) * time.Microsecond
						if h.Do(i, 0, func() byte { return q.getWithin(d) }) != 0 {
							left--
						}
					}
				}
			})
			c.wait()
			condSpec.Check(c.t, h)
		}
	})
}
