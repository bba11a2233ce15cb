package sched

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/internal/clock"
)

// The judge counts looks: a program that was stopped for hours between two of them has not been quiet for hours.
func TestJudgeCountsLooks(t *testing.T) {
	s, err := New(Config{Workers: 1})
	require.NoError(t, err)
	blocked := make(chan *Fiber, 1)
	require.NoError(t, s.Go(func() {
		blocked <- Current()
		Current().Wait(nil, nil)
	}))
	f := <-blocked
	v := s.survey()
	for ; !v.stuck(0); v = s.survey() {
		time.Sleep(time.Millisecond)
	}
	const limit = clock.Instant(time.Hour)
	o := deadlockJudge{s: s, limit: limit}
	for range 10 {
		deadlock, again := o.judge(v)
		assert.Nil(t, deadlock)
		assert.LessOrEqual(t, again, time.Duration(longestStep), "the next look is due within a step")
		o.looked -= 10 * limit
	}
	assert.LessOrEqual(t, o.lasts, 9*longestStep)
	f.Notify()
	require.NoError(t, s.Close())
}
