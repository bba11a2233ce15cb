package sched

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The whole table, written down a second time.
func TestLegal(t *testing.T) {
	type transition struct {
		from, to State
		why      Why
	}
	want := map[transition]bool{
		{Idle, Running, WhyCarryOn}:   true,
		{Running, Idle, WhyGoIdle}:    true,
		{Running, Idle, WhyEnd}:       true,
		{Running, Yielded, WhyWait}:   true,
		{Running, Waiting, WhyWait}:   true,
		{Running, Queued, WhyYield}:   true,
		{Yielded, Queued, WhyNotify}:  true,
		{Waiting, Queued, WhyNotify}:  true,
		{Waiting, Queued, WhyTimeout}: true,
		{Queued, Running, WhyResume}:  true,
	}
	for from := range State(states + 1) {
		for to := range State(states + 1) {
			for why := range Why(whys + 1) {
				require.Equal(t, want[transition{from, to, why}], mayGo(from, to, why), "%v -> %v (%v)", from, to, why)
			}
		}
	}
}

func TestNamesOfStates(t *testing.T) {
	require.Equal(t, "Waiting", Waiting.String())
	require.Equal(t, "State(5)", State(states).String())
	require.Equal(t, "timeout", WhyTimeout.String())
	require.Equal(t, "Why(8)", Why(whys).String())
}
