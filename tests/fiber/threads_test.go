package fiber_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
	"fiberlab/tests/internal/trapbody"
)

// The runtime binds the M that it lends to a thread, so that the thread's end gives it back. The fiber itself gives
// back its M. If the M were bound, the thread's end would give it back once more, and the list of Ms would end in
// itself.

// onLockedGoroutine calls f on a goroutine whose end ends its thread.
func onLockedGoroutine(f func()) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	<-done
	return nil
}

var threadMakers = map[string]func(f func()) error{
	"go": onLockedGoroutine,
	"c":  trapbody.CallOnThread,
}

// fibersPerThread is how many Go bodies, and how many C bodies that call Go, a
// thread has at once.
const fibersPerThread = 10

// threadLife makes fibers of both kinds on the calling thread, switches them in
// turn and ends them there, so that they have come and gone with the thread.
func threadLife(b fiber.Backend) error {
	root, err := fiber.Attach(b)
	if err != nil {
		return err
	}
	var errs []error
	returned := 0
	body := func() {
		for range 2 {
			errs = append(errs, fiber.Current().SwitchTo(root))
		}
		returned++
	}
	cBody, argument, free := trapbody.CallBody(body)
	defer free()
	var fibers []*fiber.Fiber
	for i := range fibersPerThread {
		f, err := fiber.New(fiber.Config{Name: fmt.Sprint("go ", i), Backend: b}, body)
		errs = append(errs, err)
		c, err := fiber.NewC(fiber.Config{Name: fmt.Sprint("c ", i), Backend: b}, cBody, argument)
		errs = append(errs, err)
		fibers = append(fibers, f, c)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for range 3 {
		for _, f := range fibers {
			errs = append(errs, root.SwitchTo(f))
		}
	}
	for _, f := range fibers {
		errs = append(errs, f.Close())
	}
	if returned != len(fibers) {
		errs = append(errs, fmt.Errorf("%d bodies of %d returned", returned, len(fibers)))
	}
	return errors.Join(append(errs, root.Detach())...)
}

// threadLives runs n threads, four at a time, and drains the pool on every tenth.
func threadLives(n int, b fiber.Backend, start func(func()) error) error {
	var mu sync.Mutex
	var errs []error
	note := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, err)
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, 4)
	for i := range n {
		slots <- struct{}{}
		all.Add(1)
		go func() {
			defer func() { <-slots; all.Done() }()
			note(start(func() {
				note(threadLife(b))
				if i%10 == 9 {
					note(fiber.Drain())
				}
			}))
		}()
	}
	all.Wait()
	return errors.Join(append(errs, fiber.Drain())...)
}

func countThreads(t *testing.T) int {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	return len(tasks)
}

// countMs counts the runtime's Ms, what it has lent or can lend included.
func countMs() int { return pprof.Lookup("threadcreate").Count() }

func TestThreadsComeAndGo(t *testing.T) {
	// What the runtime may keep: an M for each identity that there was at once,
	// and the runtime's threads.
	const msToSpare, threadsToSpare = 60, 20
	for name, start := range threadMakers {
		t.Run(name, func(t *testing.T) {
			suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
				require.NoError(t, threadLives(20, b, start))
				threads, ms := countThreads(t), countMs()
				require.NoError(t, threadLives(suite.Scaled(150, 40), b, start))
				deadline := time.Now().Add(time.Minute)
				for countThreads(t) > threads+threadsToSpare && time.Now().Before(deadline) {
					time.Sleep(time.Millisecond) // a thread that has been joined may still be listed
				}
				assert.LessOrEqual(t, countThreads(t), threads+threadsToSpare, "threads")
				assert.LessOrEqual(t, countMs(), ms+msToSpare, "Ms")
			})
		})
	}
}

// The pool drops identities on another thread, while the thread that they
// were made on lives, and after it has ended. New ones are then made of the same Ms.
func TestDropOnAnotherThread(t *testing.T) {
	for name, start := range threadMakers {
		t.Run(name, func(t *testing.T) {
			suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
				require.NoError(t, threadLives(4, b, start))
				fibertest.KeepPool(t)
				ms, kept := countMs(), fiber.ReadStats().Identities
				for range suite.Scaled(16, 8) {
					alive := 0
					require.NoError(t, start(func() {
						assert.NoError(t, threadLife(b))
						alive = fiber.ReadStats().Identities
						assert.NoError(t, fiber.Drain())
						assert.NoError(t, threadLife(b)) // of Ms that another thread dropped
					}))
					require.GreaterOrEqual(t, alive, fibersPerThread)
					runtime.GC()
					require.NoError(t, fiber.Drain())
					require.Equal(t, kept, fiber.ReadStats().Identities)
					runtime.GC()
				}
				assert.LessOrEqual(t, countMs(), ms+60, "Ms")
			})
		})
	}
}

// A C body's identity is dropped by the fiber itself, where its body ends.
func TestDropAfterMigration(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		for range suite.Scaled(30, 5) {
			var fibers []*fiber.Fiber
			var free func()
			calls := 0
			require.NoError(t, trapbody.CallOnThread(func() {
				root, err := fiber.Attach(b)
				assert.NoError(t, err)
				body, argument, release := trapbody.CallBody(func() {
					calls++
					assert.NoError(t, fiber.Current().SwitchTo(root))
					assert.True(t, growStack(32))
					calls++
				})
				free = release
				for range fibersPerThread {
					f, err := fiber.NewC(fiber.Config{Backend: b}, body, argument)
					assert.NoError(t, err)
					assert.NoError(t, root.SwitchTo(f))
					fibers = append(fibers, f)
				}
				assert.NoError(t, root.Detach())
			}))
			require.NoError(t, onLockedGoroutine(func() {
				root, err := fiber.Attach(b)
				assert.NoError(t, err)
				for _, f := range fibers {
					assert.NoError(t, root.SwitchTo(f))
				}
				runtime.GC()
				for _, f := range fibers {
					assert.NoError(t, f.Close())
				}
				assert.NoError(t, root.Detach())
			}))
			free()
			require.Equal(t, 2*fibersPerThread, calls)
		}
	})
}
