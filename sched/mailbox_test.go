package sched

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// list has the messages of a mailbox, in the order in which its worker sees them.
func (m *mailbox) list() (all []*message) {
	for l := m.take(); l != nil; l = l.next {
		all = append(all, l)
	}
	return all
}

func TestMailboxKeepsTheOrder(t *testing.T) {
	var m mailbox
	require.True(t, m.empty())
	require.Nil(t, m.take())
	var want []*message
	for range 5 {
		l := &message{}
		want = append(want, l)
		require.True(t, m.put(l))
		require.False(t, m.empty())
	}
	got := m.list()
	require.Len(t, got, len(want))
	for i := range want {
		require.Same(t, want[i], got[i])
	}
	require.True(t, m.empty())
}

func TestMailboxClosesOnlyIfItIsEmpty(t *testing.T) {
	var m mailbox
	require.True(t, m.put(&message{}))
	require.False(t, m.close(), "a message is in it")
	require.True(t, m.put(&message{}))
	require.Len(t, m.list(), 2)
	require.True(t, m.close())
	require.True(t, m.close(), "it stays closed")
	require.True(t, m.empty())
	require.Nil(t, m.take(), "to take leaves it closed")
	require.False(t, m.put(&message{}))
	m.reopen()
	require.True(t, m.put(&message{}))
	m.reopen()
	require.Len(t, m.list(), 1, "a mailbox that is open is left alone")
}

// Many threads put messages while the worker takes them, and closes the mailbox now and then. It takes each accepted
// message once, and the messages of one sender in their order.
func TestMailboxLosesNothing(t *testing.T) {
	const senders, messages = 4, 5000
	type sent struct{ sender, number int }
	var m mailbox
	var sending sync.WaitGroup
	contents := make(map[*message]sent)
	var mine [senders][messages]message
	for s := range senders {
		for n := range messages {
			contents[&mine[s][n]] = sent{s, n}
		}
	}
	for s := range senders {
		sending.Add(1)
		go func() {
			defer sending.Done()
			for n := range messages {
				for !m.put(&mine[s][n]) {
					runtime.Gosched()
				}
			}
		}()
	}
	over := make(chan struct{})
	go func() { sending.Wait(); close(over) }()
	var next [senders]int
	read := func() {
		for l := m.take(); l != nil; {
			following := l.next
			c := contents[l]
			assert.Equal(t, next[c.sender], c.number, "of sender %d", c.sender)
			next[c.sender] = c.number + 1
			l = following
		}
	}
	for turn := 0; ; turn++ {
		select {
		case <-over:
			read()
			for s := range senders {
				require.Equal(t, messages, next[s], "messages of sender %d", s)
			}
			return
		default:
		}
		read()
		if turn%16 == 0 && m.close() {
			runtime.Gosched()
			m.reopen()
		}
	}
}
