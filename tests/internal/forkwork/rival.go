package forkwork

import (
	"sync"

	"golang.org/x/sync/errgroup"

	"fiberlab/sched/fibersync"
)

// Rival is a way to call two functions, perhaps at the same time, that package forkjoin is measured against.
type Rival int

const (
	// Goroutines starts a goroutine for one of the two functions, and waits for it by a sync.WaitGroup.
	Goroutines Rival = iota
	// ErrGroup does the same by an errgroup.Group. It sets no limit: a function that has a place and waits for a
	// function that has none would never return.
	ErrGroup
	// WaitGroup starts a task of the caller's scheduler, and waits for it by a fibersync.WaitGroup.
	WaitGroup

	counter // calls one after the other, and counts its calls
)

// counted is how many forks the counter has counted.
var counted int

// Rivals lists all of them.
func Rivals() []Rival { return []Rival{Goroutines, ErrGroup, WaitGroup} }

func (r Rival) String() string { return [...]string{"goroutines", "errgroup", "waitgroup"}[r] }

// OnFibers reports whether the rival's functions are tasks of a scheduler; otherwise they are goroutines.
func (r Rival) OnFibers() bool { return r == WaitGroup }

// fork calls a, and has b called by another goroutine or task. It returns the results of both.
func (r Rival) fork(a, b func() int) (int, int) {
	switch r {
	case counter:
		counted++
		return a(), b()
	case ErrGroup:
		return forkErrGroup(a, b)
	case WaitGroup:
		return forkWaitGroup(a, b)
	}
	return forkGoroutine(a, b)
}

func forkGoroutine(a, b func() int) (int, int) {
	var second int
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		second = b()
	}()
	first := a()
	wg.Wait()
	return first, second
}

func forkErrGroup(a, b func() int) (int, int) {
	var second int
	var group errgroup.Group
	group.Go(func() error {
		second = b()
		return nil
	})
	first := a()
	_ = group.Wait() // b has no error
	return first, second
}

func forkWaitGroup(a, b func() int) (int, int) {
	var second int
	var wg fibersync.WaitGroup
	wg.Go(func() { second = b() })
	first := a()
	wg.Wait()
	return first, second
}
