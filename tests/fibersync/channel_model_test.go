package fibersync_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"fiberlab/internal/history"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/suite"
)

// How much the channels of a history hold.
var channelCapacities = [2]int{1, 2}

// channelOp is an operation on channels: a choice of cases, or the closing of a channel.
type channelOp struct {
	cases  []channelCase
	blocks bool // until a case is possible, or for some time
	close  int  // the channel, if there are no cases
}

type channelCase struct {
	channel int
	send    bool
	value   rune // to be sent
}

// channelResult is the case that took place, or -1; the value that was received; and
// whether the case found its channel closed.
type channelResult struct {
	index  int
	value  rune
	closed bool
	late   bool // no case took place before the time was over
}

// channelState is what the channels hold, and whether they are closed.
type channelState struct {
	queues [2]string
	closed [2]bool
}

// possible reports whether a case is possible.
func (s channelState) possible(k channelCase) bool {
	if k.send {
		return s.closed[k.channel] || len([]rune(s.queues[k.channel])) < channelCapacities[k.channel]
	}
	return s.closed[k.channel] || s.queues[k.channel] != ""
}

var channelSpec = history.Spec[channelState, channelOp, channelResult]{
	Step: func(s channelState, op channelOp, out channelResult) (bool, channelState) {
		switch {
		case len(op.cases) == 0:
			was := s.closed[op.close]
			s.closed[op.close] = true
			return was == out.closed, s
		case out.late:
			return op.blocks, s
		case out.index < 0:
			return !op.blocks && !slices.ContainsFunc(op.cases, s.possible), s
		}
		k := op.cases[out.index]
		if !s.possible(k) {
			return false, s
		}
		queue := []rune(s.queues[k.channel])
		switch {
		case k.send:
			if !s.closed[k.channel] {
				s.queues[k.channel] += string(k.value)
			}
			return out.closed == s.closed[k.channel], s
		case out.closed:
			return len(queue) == 0, s
		default:
			if len(queue) == 0 || queue[0] != out.value {
				return false, s
			}
			s.queues[k.channel] = string(queue[1:])
			return true, s
		}
	},
}

// Channels with a capacity are queues under all operations, by one call or in a choice of
// several, could have been done to all of them one at a time.
func TestChannelHistoriesAreThoseOfQueues(t *testing.T) {
	eachCompany(t, func(c *company) {
		random := suite.NewRand(c.t)
		for range suite.Scaled(3, 1) {
			const clients = 6
			h := history.New[channelOp, channelResult](clients)
			var channels [2]*fibersync.Channel[rune]
			for i, capacity := range channelCapacities {
				channels[i] = fibersync.NewChannel[rune](capacity)
			}
			for client := range clients {
				r := rand.New(rand.NewPCG(random.Uint64(), 0))
				c.start(func() {
					for n := range 25 {
						op := randomChannelOp(r, rune(100*client+4*n+1))
						h.Do(client, op, func() channelResult { return op.do(channels) })
					}
				})
			}
			c.wait()
			channelSpec.Check(c.t, h)
		}
	})
}

// randomChannelOp sends values from first on. Half of the operations are a single send or receive.
func randomChannelOp(r *rand.Rand, first rune) channelOp {
	if r.IntN(200) == 0 {
		return channelOp{close: r.IntN(2)}
	}
	op := channelOp{blocks: r.IntN(3) > 0}
	for range 1 + max(r.IntN(6)-2, 0) {
		op.cases = append(op.cases, channelCase{
			channel: r.IntN(2), send: r.IntN(2) == 0, value: first + rune(len(op.cases)),
		})
	}
	return op
}

func (op channelOp) do(channels [2]*fibersync.Channel[rune]) (out channelResult) {
	if len(op.cases) == 0 {
		sent, _ := channelSends(channels[op.close].Close)
		return channelResult{index: -1, closed: !sent}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Microsecond)
	defer cancel()
	if len(op.cases) == 1 {
		return op.cases[0].do(ctx, op.blocks, channels)
	}
	var cases []fibersync.Case
	for _, k := range op.cases {
		if k.send {
			cases = append(cases, channels[k.channel].OnSend(k.value, nil))
		} else {
			cases = append(cases, channels[k.channel].OnReceive(func(v rune, ok bool) { out.value, out.closed = v, !ok }))
		}
	}
	var err error
	if op.blocks {
		out.index, err = fibersync.Select(ctx, cases...)
	} else {
		out.index, err = fibersync.TrySelect(cases...)
	}
	out.late = errors.Is(err, context.DeadlineExceeded)
	out.closed = out.closed || errors.Is(err, fibersync.ErrClosed)
	return out
}

// do is the case by itself, by the methods of the channel.
func (k channelCase) do(ctx context.Context, blocks bool, channels [2]*fibersync.Channel[rune]) (out channelResult) {
	ch := channels[k.channel]
	var err error
	switch {
	case blocks && k.send:
		err = ch.SendContext(ctx, k.value)
	case blocks:
		out.value, err = ch.ReceiveContext(ctx)
	case k.send:
		var possible bool
		sent, _ := channelSends(func() { possible = ch.TrySend(k.value) })
		out.closed = !sent
		if sent && !possible {
			out.index = -1
		}
	default:
		var ok, ready bool
		out.value, ok, ready = ch.TryReceive()
		out.closed = ready && !ok
		if !ready {
			out.index = -1
		}
	}
	out.late = errors.Is(err, context.DeadlineExceeded)
	out.closed = out.closed || errors.Is(err, fibersync.ErrClosed)
	return out
}
