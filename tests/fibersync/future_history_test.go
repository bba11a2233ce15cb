package fibersync_test

import (
	"context"
	"testing"

	"fiberlab/internal/history"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/suite"
)

// futureOp is an operation on a promise or its future. What it gives is the value, the
// answer as 1 or 0, or gaveUp.
type futureOp struct {
	name  string
	value int
}

const gaveUp = -1

// A promise is a register that is written once. Everybody tries to, at some time; half of
// the clients block for it, the others do not.
func TestFutureHistories(t *testing.T) {
	once := history.Spec[int, futureOp, int]{Step: func(value int, in futureOp, out int) (bool, int) {
		switch in.name {
		case "set":
			if value == 0 {
				return out == 1, in.value
			}
			return out == 0, value
		case "done":
			return (out == 1) == (value != 0), value
		}
		return out == gaveUp || value != 0 && out == value, value
	}}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	eachCompany(t, func(c *company) {
		random := suite.NewRand(c.t)
		for range suite.Scaled(5, 1) {
			const clients, operations = 8, 30
			h := history.New[futureOp, int](clients)
			var p fibersync.Promise[int]
			for client := range clients {
				plan := random.Perm(operations)
				c.start(func() {
					for _, step := range plan {
						op := futureOp{name: "done"}
						switch {
						case step == 0:
							op = futureOp{"set", client + 1}
						case step < 10:
							op.name = "try"
						case step < 12 && client%2 == 0:
							op.name = "get"
						}
						h.Do(client, op, func() int { return op.on(&p, over) })
						if step%4 == 0 {
							pause()
						}
					}
				})
			}
			c.wait()
			once.Check(c.t, h)
		}
	})
}

// on does the operation. A try is a wait that is over before it begins.
func (op futureOp) on(p *fibersync.Promise[int], over context.Context) int {
	f, answer := p.Future(), map[bool]int{true: 1, false: 0}
	switch op.name {
	case "set":
		return answer[p.TrySet(op.value)]
	case "done":
		return answer[f.Ready()]
	case "try":
		if v, err := f.GetContext(over); err == nil {
			return v
		}
		return gaveUp
	}
	v, _ := f.Get()
	return v
}
