package idle

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
)

// lookingSet is the set of n workers that have found nothing, and their words.
func lookingSet(n, spinners int) (*Set, []*Word) {
	words := make([]*Word, n)
	for i := range words {
		words[i] = New(func() *Word { return nil })
		words[i].Look()
	}
	return NewSet(words, spinners, nil), words
}

// A worker may delay if workers may spin at all, and none sleeps.
func TestMayDelay(t *testing.T) {
	s, _ := lookingSet(2, 0)
	require.False(t, s.MayDelay(), "no worker may spin")
	s, _ = lookingSet(2, 1)
	require.True(t, s.MayDelay())
	require.True(t, s.BeginSpin(0))
	require.True(t, s.MayDelay(), "a worker that spins is woken without a system call")
	s.BeginSleep(1)
	require.False(t, s.MayDelay(), "a worker sleeps")
	s.EndSleep(1)
	require.True(t, s.MayDelay())
}

// Of each 64 workers no more spin than may. One that has been notified is about to leave, and does not count.
func TestSpinners(t *testing.T) {
	s, words := lookingSet(200, 2)
	for i := range words {
		require.Equal(t, i%64 < 2, s.BeginSpin(i), "worker %d", i)
	}
	spinning := 0
	for b := range s.blocks {
		spinning += bits.OnesCount64(s.blocks[b].spinning.Load())
	}
	require.Equal(t, 8, spinning)
	require.True(t, words[1].Notify())
	require.True(t, s.BeginSpin(9), "worker 1 is about to leave")
	require.False(t, s.BeginSpin(10))
	s.EndSpin(1) // its place is another's
	require.False(t, s.BeginSpin(10))
	s.EndSpin(0)
	require.True(t, s.BeginSpin(10))
	none, _ := lookingSet(1, 0)
	require.False(t, none.BeginSpin(0))
}

// Each worker is claimed once: spinners first, and the lowest number of each kind.
func TestClaims(t *testing.T) {
	s, words := lookingSet(130, 2)
	require.False(t, s.AnyIdle())
	require.Equal(t, -1, s.Claim())
	for _, i := range []int{129, 3, 70} {
		s.BeginSleep(i)
	}
	require.True(t, s.BeginSpin(128))
	require.True(t, s.AnyIdle())
	var woken []int
	for s.WakeOne() {
		for i, w := range words {
			if w.Notified() {
				w.Look()
				woken = append(woken, i)
			}
		}
	}
	require.Equal(t, []int{128, 3, 70, 129}, woken)
	require.False(t, s.AnyIdle())
	require.True(t, s.EndSleep(3), "it was claimed")
	s.BeginSleep(3)
	require.True(t, s.AnyIdle())
	require.False(t, s.EndSleep(3), "it was not")
}
