package fibersync_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// channelValue is a value with its sender's number, and its number among the sender's values.
type channelValue struct{ sender, number int }

// channelSends reports whether send returned without a panic. Only a closed channel may make it panic.
func channelSends(send func()) (sent bool, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			if err, _ = problem.(error); !errors.Is(err, fibersync.ErrClosed) {
				panic(problem)
			}
		}
	}()
	send()
	return true, nil
}

// Every value comes to one receiver, and no receiver sees two values of one sender in the
// wrong order.
func TestChannelPassesEachValueOnceInOrder(t *testing.T) {
	eachCompany(t, func(c *company) {
		const senders, receivers = 4, 3
		each := suite.Scaled(100, 20)
		for _, capacity := range []int{0, 1, 7} {
			ch := fibersync.NewChannel[channelValue](capacity)
			var got schedtest.Journal[channelValue]
			var disorder, sending atomic.Int64
			sending.Store(senders)
			for s := range senders {
				c.start(func() {
					for n := range each {
						ch.Send(channelValue{s, n})
						if n%16 == s {
							pause()
						}
					}
					if sending.Add(-1) == 0 {
						ch.Close()
					}
				})
			}
			for range receivers {
				c.start(func() {
					last := [senders]int{-1, -1, -1, -1}
					for v := range ch.All() {
						if v.number <= last[v.sender] {
							disorder.Add(1)
						}
						last[v.sender] = v.number
						got.Add(v)
					}
				})
			}
			c.wait()
			assert.Zero(c.t, disorder.Load())
			assert.Len(c.t, got.All(), senders*each)
			assert.Equal(c.t, senders*each, schedtest.Distinct(got.All()))
		}
	})
}

// On one thread tasks come to the channel in the order of their start.
func TestChannelServesInTheOrderOfComing(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		c := &company{t: t, s: s}
		const waiters = 10
		ch := fibersync.NewChannel[int](0)
		var got [waiters]int
		for i := range waiters {
			c.start(func() { got[i], _ = ch.Receive() })
		}
		c.start(func() {
			for i := range waiters {
				ch.Send(i)
			}
		})
		c.wait()
		for i, v := range got {
			assert.Equal(t, i, v, "receiver %d", i)
		}
		for i := range waiters {
			c.start(func() { ch.Send(i) })
		}
		c.start(func() {
			for i := range waiters {
				v, _ := ch.Receive()
				assert.Equal(t, i, v, "sender %d", i)
			}
		})
		c.wait()
	})
}

// A receive that makes room in the buffer gives it to the sender that has waited longest, not
// to the next client.
func TestChannelReceiveMakesRoomForOneSender(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		c := &company{t: t, s: s}
		ch := fibersync.NewChannel[int](2)
		ch.Send(0)
		ch.Send(1)
		sent := 0
		for v := 2; v < 5; v++ {
			c.start(func() {
				ch.Send(v)
				sent++
			})
		}
		c.start(func() {
			for v := range 5 {
				got, _ := ch.Receive()
				assert.Equal(t, v, got)
				assert.False(t, v < 3 && ch.TrySend(9), "room that belonged to a sender")
				for range 10 {
					pause()
				}
				assert.Equal(t, min(v+1, 3), sent, "senders that have gone on")
			}
		})
		c.wait()
	})
}

// One send wakes one receiver, and the others wait on.
func TestChannelWakesOne(t *testing.T) {
	eachCompany(t, func(c *company) {
		const receivers = 6
		ch := fibersync.NewChannel[int](0)
		var woken atomic.Int64
		seen := fibersync.NewChannel[int](receivers)
		for range receivers {
			c.start(func() {
				if v, ok := ch.Receive(); ok {
					woken.Add(1)
					seen.Send(v)
				}
			})
		}
		c.start(func() {
			for i := range receivers / 2 {
				ch.Send(i)
				v, _ := seen.Receive()
				assert.Equal(c.t, i, v)
				assert.EqualValues(c.t, i+1, woken.Load())
			}
			ch.Close()
		})
		c.wait()
		assert.EqualValues(c.t, receivers/2, woken.Load())
	})
}

func TestChannelCloseWakesAll(t *testing.T) {
	eachCompany(t, func(c *company) {
		toReceive, toSend := fibersync.NewChannel[int](3), fibersync.NewChannel[int](1)
		toSend.Send(1)
		var received, sent atomic.Int64
		for range 8 {
			c.start(func() {
				if _, ok := toReceive.Receive(); ok {
					received.Add(1)
				}
				if _, err := toReceive.ReceiveContext(context.Background()); !errors.Is(err, fibersync.ErrClosed) {
					received.Add(1)
				}
			})
			c.start(func() {
				if ok, _ := channelSends(func() { toSend.Send(2) }); ok {
					sent.Add(1)
				}
				if err := toSend.SendContext(context.Background(), 2); !errors.Is(err, fibersync.ErrClosed) {
					sent.Add(1)
				}
			})
		}
		c.start(func() {
			for range 3 {
				pause()
			}
			toReceive.Close()
			toSend.Close()
		})
		c.wait()
		assert.Zero(c.t, received.Load())
		assert.Zero(c.t, sent.Load())
		v, ok := toSend.Receive()
		assert.True(c.t, ok, "what lay in the buffer remains")
		assert.Equal(c.t, 1, v)
		_, ok = toSend.Receive()
		assert.False(c.t, ok)
	})
}
