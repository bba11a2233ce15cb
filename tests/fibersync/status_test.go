package fibersync_test

import (
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/suite"
)

func TestStatusNames(t *testing.T) {
	assert.Equal(t, "NOT_STARTED", fibersync.NotStarted.String())
	assert.Equal(t, "IN_PROGRESS", fibersync.InProgress.String())
	assert.Equal(t, "COMPLETED", fibersync.Completed.String())
	assert.Equal(t, "Status(7)", fibersync.Status(7).String())
}

func TestStatusOfAPromise(t *testing.T) {
	for _, claimed := range []bool{false, true} {
		for _, settle := range []func(p *fibersync.Promise[int]){
			func(p *fibersync.Promise[int]) { p.Set(1) },
			func(p *fibersync.Promise[int]) { p.Fail(errFuture) },
		} {
			var p fibersync.Promise[int]
			f := p.Future()
			assert.Equal(t, fibersync.NotStarted, f.Status())
			if claimed {
				assert.True(t, p.Claim())
				assert.Equal(t, fibersync.InProgress, f.Status())
				assert.False(t, p.Claim(), "it is claimed already")
			}
			assert.False(t, f.Ready())
			settle(&p)
			assert.Equal(t, fibersync.Completed, f.Status())
			assert.True(t, f.Ready())
			assert.False(t, p.Claim(), "it is settled already")
			assert.Equal(t, fibersync.Completed, f.Status())
		}
	}
}

// A future is NOT_STARTED until its function begins.
func TestStatusOfAsync(t *testing.T) {
	eachCompany(t, func(c *company) {
		c.start(func() {
			var first fibersync.Promise[int]
			var f *fibersync.Future[int]
			made, begun, finish := fibersync.NewLatch(1), fibersync.NewLatch(1), fibersync.NewLatch(1)
			f = fibersync.Then(first.Future(), func(v int, _ error) (int, error) {
				made.Wait()
				assert.Equal(c.t, fibersync.InProgress, f.Status())
				begun.CountDown()
				finish.Wait()
				return v + 1, nil
			})
			made.CountDown()
			assert.Equal(c.t, fibersync.NotStarted, f.Status())
			first.Set(1)
			begun.Wait()
			assert.Equal(c.t, fibersync.InProgress, f.Status())
			finish.CountDown()
			v, err := f.Get()
			assert.NoError(c.t, err)
			assert.Equal(c.t, 2, v)
			assert.Equal(c.t, fibersync.Completed, f.Status())

			begun = fibersync.NewLatch(1)
			finish = fibersync.NewLatch(1)
			f = fibersync.Async(func() (int, error) {
				begun.CountDown()
				finish.Wait()
				return 3, nil
			})
			begun.Wait()
			assert.Equal(c.t, fibersync.InProgress, f.Status())
			finish.CountDown()
			_, _ = f.Get()
			assert.Equal(c.t, fibersync.Completed, f.Status())
		})
	})
}

func TestStatusOfAsyncThatCannotStart(t *testing.T) {
	asHelpless(t, func() {
		f := fibersync.Async(func() (int, error) { return 1, nil })
		assert.Equal(t, fibersync.Completed, f.Status())
	})
}

// Of many callers, one gets the claim, and computes the value that all get.
func TestClaimHasOneWinner(t *testing.T) {
	eachCompany(t, func(c *company) {
		for range suite.Scaled(20, 5) {
			var p fibersync.Promise[int]
			var winners atomic.Int64
			for i := range 8 {
				c.start(func() {
					if p.Claim() {
						winners.Add(1)
						p.Set(i)
					}
					_, err := p.Future().Get()
					assert.NoError(c.t, err)
					assert.Equal(c.t, fibersync.Completed, p.Future().Status())
				})
			}
			c.wait()
			assert.EqualValues(c.t, 1, winners.Load())
		}
	})
}

// A claim does not keep other callers from settling the promise, and never makes what is settled unsettled.
func TestClaimAgainstTrySet(t *testing.T) {
	eachCompany(t, func(c *company) {
		for range suite.Scaled(50, 10) {
			var p fibersync.Promise[int]
			var claims, sets atomic.Int64
			for i := range 6 {
				c.start(func() {
					if i%2 == 0 {
						if p.Claim() {
							claims.Add(1)
						}
						assert.NotEqual(c.t, fibersync.NotStarted, p.Future().Status())
						return
					}
					if p.TrySet(i) {
						sets.Add(1)
					}
					assert.Equal(c.t, fibersync.Completed, p.Future().Status())
				})
			}
			c.wait()
			assert.LessOrEqual(c.t, claims.Load(), int64(1))
			assert.EqualValues(c.t, 1, sets.Load())
			assert.Equal(c.t, fibersync.Completed, p.Future().Status())
		}
	})
}

// A future is allocated for each fork.
func TestPromiseIsSmall(t *testing.T) {
	assert.LessOrEqual(t, unsafe.Sizeof(fibersync.Promise[int]{}), uintptr(80))
}
