package admission

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"fiberlab/sched/park"
)

// take takes a place, or waits for one until ctx is done.
func take(ctx context.Context, r *Room, inside bool) error {
	return r.Take(inside, park.Until{Context: ctx}, nil)
}

var errFull, errClosed = errors.New("full"), errors.New("closed")

// newRoom makes a room that returns these errors.
func newRoom(places, threads int) *Room { return New(places, threads, errFull, errClosed) }

// modelCaller is a caller that waits for a place, as the model has it.
type modelCaller struct {
	inside bool
	cancel context.CancelCauseFunc
	result chan error
}

// modelLimit is how long a caller may take that has nothing to wait for.
const modelLimit = time.Minute

var errLeft = errors.New("the caller has left")

// TestRoomModel does random things to a room and to a model of it, a number and a list, and compares what comes of
// them.
func TestRoomModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 3).Draw(t, "places")
		r, taken, closed := newRoom(most, 1), 0, false
		var freed atomic.Uint64
		r.AddCount(&freed)
		var callers []modelCaller // first come, first served
		settle := func() {
			for end := time.Now().Add(modelLimit); r.Waiting() != len(callers); runtime.Gosched() {
				if time.Now().After(end) {
					t.Fatalf("%d callers wait instead of %d", r.Waiting(), len(callers))
				}
			}
		}
		end := func(i int, want error) {
			c := callers[i]
			callers = append(callers[:i:i], callers[i+1:]...)
			select {
			case err := <-c.result:
				if !errors.Is(err, want) {
					t.Fatalf("caller %d: %v instead of %v", i, err, want)
				}
			case <-time.After(modelLimit):
				t.Fatalf("caller %d waits instead of getting %v", i, want)
			}
		}
		give := func(t *rapid.T) {
			if rapid.Bool().Draw(t, "unused") {
				r.Give()
			} else {
				r.Counted(freed.Add(1))
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"try": func(t *rapid.T) {
				inside := rapid.Bool().Draw(t, "inside")
				var want error
				switch {
				case closed && !inside:
					want = errClosed
				case taken >= most:
					want = errFull
				default:
					taken++
				}
				require.Equal(t, want, r.TryTake(inside))
			},
			"take": func(t *rapid.T) {
				ctx, cancel := context.WithCancelCause(context.Background())
				c := modelCaller{rapid.Bool().Draw(t, "inside"), cancel, make(chan error, 1)}
				go func() { c.result <- take(ctx, r, c.inside) }()
				callers = append(callers, c)
				switch {
				case closed && !c.inside:
					end(len(callers)-1, errClosed)
				case taken < most:
					taken++
					end(len(callers)-1, nil)
				}
				settle()
			},
			"cancel": func(t *rapid.T) {
				if len(callers) == 0 {
					t.Skip("no caller waits")
				}
				i := rapid.IntRange(0, len(callers)-1).Draw(t, "caller")
				callers[i].cancel(errLeft)
				end(i, errLeft)
			},
			"give": func(t *rapid.T) {
				if taken == 0 {
					t.Skip("nothing is taken")
				}
				give(t)
				if taken > most || len(callers) == 0 {
					taken--
				} else {
					end(0, nil)
				}
			},
			"exceed": func(t *rapid.T) {
				if taken < most {
					t.Skip("a place is free")
				}
				r.Exceed()
				taken++
			},
			"close": func(*rapid.T) {
				r.Close()
				closed = true
				for i := 0; i < len(callers); {
					if callers[i].inside {
						i++
					} else {
						end(i, errClosed)
					}
				}
			},
			"reopen": func(*rapid.T) {
				r.Reopen()
				closed = false
			},
			"": func(t *rapid.T) {
				require.Equal(t, len(callers), r.Waiting())
				r.mu.Lock()
				r.collect()
				free := r.free
				r.mu.Unlock()
				require.Equal(t, most-taken, free)
				require.True(t, free <= 0 || len(callers) == 0, "a place is free while a caller waits")
			},
		})
		for len(callers) > 0 {
			give(t)
			if taken--; taken < most {
				taken++
				end(0, nil)
			}
		}
	})
}
