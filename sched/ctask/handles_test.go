package ctask

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
)

// The table keeps no fiber alive, and has no entry of a fiber that was collected.
func TestHandlesGoWithTheirFibers(t *testing.T) {
	before := len(handles.fibers)
	var issued []uint64
	func() {
		s, err := sched.New(sched.Config{})
		require.NoError(t, err)
		require.NoError(t, s.Bind())
		var blocked []*sched.Fiber
		for range 100 {
			require.NoError(t, sched.Schedule(func() {
				f := sched.Current()
				issued = append(issued, handles.of(f))
				blocked = append(blocked, f)
				f.Wait(nil, nil)
			}))
		}
		require.NoError(t, sched.Schedule(func() {
			runtime.GC()
			for i, f := range blocked {
				found, _ := handles.fiber(issued[i])
				assert.Same(t, f, found, "the handle of a live fiber finds another fiber")
				f.Notify()
			}
		}))
		require.NoError(t, sched.Unbind())
		require.NoError(t, s.Close())
	}()
	require.Len(t, issued, 100)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		runtime.GC()
		handles.mu.Lock()
		fibers, ids := len(handles.fibers), len(handles.ids)
		handles.mu.Unlock()
		if fibers == before && ids == before {
			break
		}
		require.True(t, time.Now().Before(deadline), "%d handles and %d ids are left of %d", fibers, ids, before)
	}
	for _, id := range issued {
		f, was := handles.fiber(id)
		require.Nil(t, f)
		require.True(t, was)
	}
}
