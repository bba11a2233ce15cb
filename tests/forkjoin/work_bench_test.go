package forkjoin_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/forkjoin"
	"fiberlab/tests/internal/forkwork"
)

// BenchmarkWork runs all programs by all ways, with one worker and with two, on the default backend under policy
// stealing. The rivals are goroutines with a wait group or an errgroup, of which GOMAXPROCS is the number of workers,
// and tasks of the scheduler with a wait group. Where the name has cut=none, a way forks as deep as the program goes;
// the rivals leave out inputs that would take them many seconds. Otherwise it has the cut that a user might choose who
// knows that forks are dear: some hundred forks in all. See compare for what is reported; steals/op is how many forks
// other strands have run.
//
// benchstat sets the ways side by side by -col /form.
func BenchmarkWork(b *testing.B) {
	files := sources(b, "runtime")
	const rivals, poolsOnly = true, false
	for _, of := range []struct {
		rivals bool
		work   func() forkwork.Work
	}{
		{rivals, func() forkwork.Work { return forkwork.Fib(27, 0) }},
		{rivals, func() forkwork.Work { return forkwork.Fib(27, 16) }},
		{rivals, func() forkwork.Work { return forkwork.Sum(1_000, 0, 0) }},
		{rivals, func() forkwork.Work { return forkwork.Sum(1_000, 16, 0) }},
		{poolsOnly, func() forkwork.Work { return forkwork.Sum(1_000_000, 0, 0) }},
		{rivals, func() forkwork.Work { return forkwork.Sum(1_000_000, 0, 8) }},
		{poolsOnly, func() forkwork.Work { return forkwork.Sum(1_000_000, 16, 0) }},
		{rivals, func() forkwork.Work { return forkwork.Sum(1_000_000, 16, 8) }},
		{poolsOnly, func() forkwork.Work { return forkwork.Sum(1_000_000, 64, 0) }},
		{rivals, func() forkwork.Work { return forkwork.Queens(11, 0) }},
		{rivals, func() forkwork.Work { return forkwork.Queens(11, 3) }},
		{rivals, func() forkwork.Work { return forkwork.Mergesort(1_000_000, 0) }},
		{rivals, func() forkwork.Work { return forkwork.Mergesort(1_000_000, 8192) }},
		{rivals, func() forkwork.Work { return forkwork.Matmul(256, 0) }},
		{rivals, func() forkwork.Work { return forkwork.Matmul(256, 64) }},
		{rivals, func() forkwork.Work { return forkwork.Search(4, 10, 0) }},
		{rivals, func() forkwork.Work { return forkwork.Search(4, 10, 5) }},
		{rivals, func() forkwork.Work { return forkwork.Words(files, 0) }},
		{rivals, func() forkwork.Work { return forkwork.Words(files, 2<<20) }},
		{rivals, func() forkwork.Work { return forkwork.Roots(1_000_000) }},
		{rivals, func() forkwork.Work { return forkwork.Total(1_000_000) }},
		{rivals, func() forkwork.Work { return forkwork.Sort(1_000_000) }},
	} {
		w := of.work()
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/workers=%d", w.Name, workers), func(b *testing.B) {
				if of.rivals {
					benchRivals(b, &w, workers)
				}
				benchForms(b, &w, workers)
			})
		}
	}
}

func benchRivals(b *testing.B, w *forkwork.Work, workers int) {
	for _, r := range forkwork.Rivals() {
		b.Run(fmt.Sprintf("form=%v", r), func(b *testing.B) {
			run := func() int { return w.Forked(r) }
			if r.OnFibers() {
				onScheduler(b, workers, func(s *sched.Scheduler) {
					require.NoError(b, fibersync.On(s, func() { compare(b, w, run) }))
				})
				return
			}
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers))
			compare(b, w, run)
		})
	}
}

func benchForms(b *testing.B, w *forkwork.Work, workers int) {
	for _, f := range forkjoin.Forms() {
		for _, by := range []struct {
			name string
			run  func(p *forkjoin.Pool) int
		}{{"join", w.Join}, {"typed", w.Typed}, {"loop", w.Loop}} {
			if by.run != nil {
				b.Run(fmt.Sprintf("form=%v-%s", f, by.name), func(b *testing.B) { benchPool(b, w, workers, f, by.run) })
			}
		}
	}
}

// benchPool runs w in a task of a new pool, as run says.
func benchPool(b *testing.B, w *forkwork.Work, workers int, form forkjoin.Form, run func(p *forkjoin.Pool) int) {
	onScheduler(b, workers, func(s *sched.Scheduler) {
		pool, err := forkjoin.New(s, forkjoin.Config{Form: form})
		require.NoError(b, err)
		// The task asks for the result itself: a goroutine would run the root on another thread.
		require.NoError(b, fibersync.On(s, func() {
			_, err = forkjoin.Submit(pool, func(p *forkjoin.Pool) (int, error) {
				runs := 0
				before := pool.Stats().Stolen
				compare(b, w, func() int {
					runs++
					return run(p)
				})
				b.ReportMetric(float64(pool.Stats().Stolen-before)/float64(runs), "steals/op")
				return 0, nil
			}).Get()
		}))
		require.NoError(b, err)
		require.NoError(b, pool.Close())
	})
}

// onScheduler calls f with a scheduler of so many workers.
func onScheduler(b *testing.B, workers int, f func(s *sched.Scheduler)) {
	s, err := sched.New(sched.Config{Workers: workers})
	require.NoError(b, err)
	f(s)
	require.NoError(b, s.Close())
	require.NoError(b, fiber.Drain())
}
