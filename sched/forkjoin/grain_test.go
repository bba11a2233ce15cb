package forkjoin

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/internal/clock"
)

// Elements that take longer than a grain are in shares of one.
func TestGrainOfLongElements(t *testing.T) {
	g := grain{pool: new(shared), most: 100}
	for i := range 10 {
		assert.True(t, g.halves(2), "a share of two, after %d elements", i)
		g.learn(1, clock.Now()-clock.Instant(3*grainTime))
	}
}
