//go:build go1.25

package fibersync_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched/fibersync"
)

// A goroutine that sleeps in a bubble counts as durably blocked.
func TestSleepInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		assert.NoError(t, fibersync.Sleep(context.Background(), 24*time.Hour))
		assert.Equal(t, 24*time.Hour, time.Since(begun))
	})
}
