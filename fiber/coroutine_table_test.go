package fiber

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// The table against a map, under random insertions and removals of keys that
// collide, and keys that come back.
func TestGoroutineTableAgainstMap(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var table goroutineTable
	model := map[uintptr]*runner{}
	keys := make([]uintptr, 500)
	for i := range keys {
		keys[i] = 0xc000000000 + uintptr(r.IntN(1<<16))*448
	}
	for range 50_000 {
		g := keys[r.IntN(len(keys))]
		if model[g] == nil {
			model[g] = new(runner)
			table.insert(g, model[g])
		} else if r.IntN(3) > 0 {
			delete(model, g)
			table.remove(g)
		} else if r.IntN(1000) == 0 {
			table.release()
		}
		g = keys[r.IntN(len(keys))]
		require.Same(t, model[g], table.lookup(g))
	}
	require.Equal(t, len(model), table.live)
	require.LessOrEqual(t, len(*table.slots.Load()), 8*len(keys))
	for _, g := range keys {
		require.Same(t, model[g], table.lookup(g))
	}
	for g, r := range model {
		if r != nil {
			table.remove(g)
		}
	}
	table.release()
	require.True(t, table.unused())
	require.Nil(t, table.lookup(keys[0]))
	table.insert(keys[0], new(runner))
	require.NotNil(t, table.lookup(keys[0]))
}

// A goroutine that is not in the table is not taken for a goroutine that is being inserted.
func TestGoroutineTableHidesHalfInserted(t *testing.T) {
	var table goroutineTable
	table.reserve()
	half := slotOf(*table.slots.Load(), 448)
	half.r.Store(new(runner)) // and its key comes next
	strangers := 0
	for g := uintptr(2 * 448); strangers < 10; g += 448 {
		if slotOf(*table.slots.Load(), g) == half {
			strangers++
			require.Nil(t, table.lookup(g))
		}
	}
}

// Goroutines look themselves up while others make the table grow.
func TestGoroutineTableConcurrently(t *testing.T) {
	var table goroutineTable
	var wg sync.WaitGroup
	for worker := range uintptr(8) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range uintptr(2_000) {
				g, r := (worker<<20|i+1)*448, new(runner)
				table.insert(g, r)
				if table.lookup(g) != r {
					t.Errorf("goroutine %#x does not find itself", g)
				}
				if i%2 == 0 {
					table.remove(g)
					if table.lookup(g) != nil {
						t.Errorf("goroutine %#x is still there", g)
					}
				}
			}
		}()
	}
	wg.Wait()
	require.Equal(t, 8*1_000, table.live)
}
