package queue

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// list has the values of messages that were taken, in the order in which the receiver sees them.
func list[T any](m *Message[T]) (all []T) {
	for m != nil {
		all = append(all, m.Value)
		m = m.Next()
	}
	return all
}

func TestMailboxKeepsTheOrder(t *testing.T) {
	var b Mailbox[*int]
	require.True(t, b.Empty())
	require.Nil(t, b.Take())
	var want []*int
	for range 5 {
		v := new(int)
		want = append(want, v)
		require.True(t, b.Put(&Message[*int]{Value: v}, false))
		require.False(t, b.Empty())
	}
	got := list(b.Take())
	require.Len(t, got, len(want))
	for i := range want {
		require.Same(t, want[i], got[i])
	}
	require.True(t, b.Empty())
}

func TestMailboxClosesOnlyIfItIsEmpty(t *testing.T) {
	var b Mailbox[int]
	put := func(always bool) bool { return b.Put(&Message[int]{}, always) }
	require.True(t, put(false))
	require.False(t, b.Close(), "a message is in it")
	require.False(t, b.Closed())
	require.True(t, put(false))
	require.Len(t, list(b.Take()), 2)
	require.True(t, b.Close())
	require.True(t, b.Close(), "it stays closed")
	require.True(t, b.Closed())
	require.True(t, b.Empty())
	require.Nil(t, b.Take(), "to take leaves it closed")
	require.False(t, put(false))
	b.Open()
	require.True(t, put(false))
	b.Open()
	require.Len(t, list(b.Take()), 1, "a mailbox that is open is left alone")
	require.True(t, b.Close())
	require.True(t, put(true), "what is always put opens it")
	require.True(t, put(false))
	require.Len(t, list(b.TakeLast()), 2)
	require.True(t, b.Closed())
	require.Nil(t, b.TakeLast())
	require.True(t, b.Closed())
}

// Many threads put messages while the receiver takes them, and closes the mailbox now and then. It takes each accepted
// message once, and the messages of one sender in their order.
func TestMailboxLosesNothing(t *testing.T) {
	const senders, messages = 4, 5000
	type sent struct{ sender, number int }
	var b Mailbox[sent]
	var sending sync.WaitGroup
	var mine [senders][messages]Message[sent]
	for s := range senders {
		sending.Add(1)
		go func() {
			defer sending.Done()
			for n := range messages {
				mine[s][n].Value = sent{s, n}
				for !b.Put(&mine[s][n], false) {
					runtime.Gosched()
				}
			}
		}()
	}
	over := make(chan struct{})
	go func() { sending.Wait(); close(over) }()
	var next [senders]int
	read := func(taken *Message[sent]) {
		for _, c := range list(taken) {
			assert.Equal(t, next[c.sender], c.number, "of sender %d", c.sender)
			next[c.sender] = c.number + 1
		}
	}
	for turn := 0; ; turn++ {
		select {
		case <-over:
			read(b.Take())
			for s := range senders {
				require.Equal(t, messages, next[s], "messages of sender %d", s)
			}
			return
		default:
		}
		read(b.Take())
		switch {
		case turn%32 == 0:
			read(b.TakeLast())
			runtime.Gosched()
			b.Open()
		case turn%16 == 0 && b.Close():
			runtime.Gosched()
			b.Open()
		}
	}
}
