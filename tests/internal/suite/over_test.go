package suite

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
)

func always([3]int) bool { return true }

// All pairs meet, and what is chosen is no larger than the largest two of the three need, and little more.
func TestAllPairsMeet(t *testing.T) {
	for a := range 4 {
		for b := range 7 {
			for c := range 4 {
				for turn := range 5 {
					sizes := [3]int{a + 1, b + 1, c + 1}
					chosen := allPairs(sizes, turn, always)
					requireAllPairs(t, sizes, chosen)
					largest := sizes[:]
					slices.Sort(largest)
					assert.LessOrEqual(t, len(chosen), largest[1]*largest[2]*5/4, "of %v", sizes)
				}
			}
		}
	}
}

func requireAllPairs(t *testing.T, sizes [3]int, chosen [][3]int) {
	t.Helper()
	for x := range 3 {
		for y := range x {
			for i := range sizes[x] {
				for j := range sizes[y] {
					require.True(t, slices.ContainsFunc(chosen, func(c [3]int) bool { return c[x] == i && c[y] == j }),
						"%d at %d and %d at %d never meet, of %v", i, x, j, y, sizes)
				}
			}
		}
	}
}

// Each value occurs, in as many threes as the most values of one place.
func TestAllValuesOccur(t *testing.T) {
	for turn := range 5 {
		chosen := allValues([3]int{3, 6, 2}, turn, always)
		assert.Len(t, chosen, 6)
		for place, size := range []int{3, 6, 2} {
			for value := range size {
				assert.True(
					t, slices.ContainsFunc(chosen, func(c [3]int) bool { return c[place] == value }), "%d at %d", value,
					place,
				)
			}
		}
	}
}

// A second policy takes no more sub-tests than one alone, where there are as many workers to choose from.
func TestSecondPolicyIsNotASecondRound(t *testing.T) {
	for turn := range 4 {
		assert.Len(t, allPairs([3]int{3, 6, 1}, turn, always), 18)
		assert.Len(t, allPairs([3]int{3, 6, 2}, turn, always), 18)
		assert.Len(t, allPairs([3]int{3, 2, 2}, turn, always), 6)
	}
}

// One test always runs with the same configurations, and different ones try different threes.
func TestConfigsDependOnTheName(t *testing.T) {
	over := Over{Policies: []sched.Policy{0, 1}, Workers: []int{1, 2}}
	assert.Equal(t, over.Configs("TestA"), over.Configs("TestA"))
	seen := make(map[string]bool)
	for i := range 64 {
		for _, cfg := range over.Configs(fmt.Sprint("Test", i)) {
			cfg.KeepThreads = false
			seen[Name(cfg)] = true
		}
	}
	assert.Len(t, seen, len(fiber.Backends())*2*2)
}

// What Only leaves out does not keep the rest from meeting.
func TestOnlyLeavesOut(t *testing.T) {
	over := Over{Workers: []int{1, 2}, Only: HasThreads}
	parts := func(cfg sched.Config) []string {
		if testing.Short() {
			return []string{cfg.Backend.String(), cfg.Policy.String()}
		}
		return []string{cfg.Backend.String() + cfg.Policy.String()}
	}
	met := make(map[string]bool)
	for _, cfg := range over.Configs(t.Name()) {
		assert.True(t, HasThreads(cfg), Name(cfg))
		for _, part := range parts(cfg) {
			met[part] = true
		}
	}
	for _, cfg := range over.All() {
		assert.True(t, HasThreads(cfg), Name(cfg))
		for _, part := range parts(cfg) {
			assert.True(t, met[part], "%s: %s", Name(cfg), part)
		}
	}
}

// In short sizes one number of workers stands for those above one, a different one in different tests.
func TestOneNumberStandsForSeveral(t *testing.T) {
	over := Over{Workers: AnyWorkers}.filled()
	seen := make(map[int]bool)
	for turn := range 8 {
		numbers := over.fewerWorkers(turn)
		require.Len(t, numbers, 3)
		require.Equal(t, []int{0, 1}, numbers[:2])
		seen[numbers[2]] = true
	}
	require.Len(t, seen, 4)
}

// Not for numbers that occur with other backends and policies than it.
func TestNoNumberStandsForWhatItLacks(t *testing.T) {
	over := Over{Workers: AnyWorkers, Only: func(cfg sched.Config) bool {
		return cfg.Workers < 8 && cfg.Workers != 1 || cfg.Policy == sched.Group
	}}.filled()
	for turn := range 8 {
		numbers := over.fewerWorkers(turn)
		require.Len(t, numbers, 4, "%v", numbers)
		require.Contains(t, []int{2, 4}, numbers[2])
		require.Contains(t, []int{8, 64}, numbers[3])
	}
}
