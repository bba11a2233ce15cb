package fibersync_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/internal/history"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/suite"
)

// Without a capacity a send and the receive of its value last until both have begun.
func TestChannelWithoutCapacityIsARendezvous(t *testing.T) {
	eachCompany(t, func(c *company) {
		const pairs = 3
		h := history.New[string, rune](2 * pairs)
		ch := fibersync.NewChannel[rune](0)
		each := suite.Scaled(30, 10)
		for p := range pairs {
			c.start(func() {
				for n := range each {
					v := rune(each*p + n)
					h.Do(p, "send", func() rune { ch.Send(v); return v })
				}
			})
			c.start(func() {
				for range each {
					h.Do(pairs+p, "receive", func() rune { v, _ := ch.Receive(); return v })
				}
			})
		}
		c.wait()
		type span struct{ call, ret int64 }
		sends := make(map[rune]span)
		for _, op := range h.Operations() {
			if op.Input == "send" {
				sends[op.Output.(rune)] = span{op.Call, op.Return}
			}
		}
		for _, op := range h.Operations() {
			if op.Input == "receive" {
				v := op.Output.(rune)
				send, found := sends[v]
				delete(sends, v)
				assert.True(c.t, found, "%d was received, but not sent or received before", v)
				assert.True(
					c.t, send.call < op.Return && op.Call < send.ret, "%d: sent %v, received %d..%d", v, send, op.Call,
					op.Return,
				)
			}
		}
		assert.Empty(c.t, sends)
	})
}
