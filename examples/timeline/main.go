// Timeline records three lessons and makes a page of each, in the folder that it is given, or else in build.
//
// In steal, an idle worker steals tasks of a busy one. In processor, short tasks wait behind a long one, though another
// worker is idle. In convoy, all tasks wait for one mutex, whose holder sleeps. docs/timeline.md says what to see.
//
// It prints:
//
//	build/steal.html
//	build/processor.html
//	build/convoy.html
package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/trace"
	"fiberlab/sched/trace/timeline"
)

func main() {
	dir := "build"
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	check(os.MkdirAll(dir, 0o755))
	for _, lesson := range []struct {
		name string
		run  func(*sched.Scheduler)
	}{{"steal", steal}, {"processor", processor}, {"convoy", convoy}} {
		r := trace.NewRecorder(10_000)
		s, err := sched.New(sched.Config{Workers: 2, Recorder: r})
		check(err)
		lesson.run(s)
		check(s.Close()) // waits for all tasks
		page := filepath.Join(dir, lesson.name+".html")
		write(page, lesson.name, r)
		fmt.Println(page)
	}
}

// steal: the children of a task are queued on its worker, which is busy. The other worker takes half of them.
func steal(s *sched.Scheduler) {
	enqueue(s, "parent", func() {
		for range 8 {
			enqueue(s, "child", func() { compute(200 * time.Microsecond) })
		}
		compute(500 * time.Microsecond)
	})
}

// processor: a fiber stays with the worker that has begun its task. The short tasks of the worker that runs the long
// one are ready, and wait until it ends.
func processor(s *sched.Scheduler) {
	for range 10 {
		enqueue(s, "short", func() {
			for range 20 {
				compute(10 * time.Microsecond)
				sched.Sleep(100 * time.Microsecond)
			}
		})
	}
	time.Sleep(500 * time.Microsecond)
	enqueue(s, "long", func() { compute(5 * time.Millisecond) })
}

// convoy: the holder of the mutex sleeps, so the other clients queue for it.
func convoy(s *sched.Scheduler) {
	var mu fibersync.Mutex
	for i := range 6 {
		enqueue(s, fmt.Sprintf("client %d", i), func() {
			for range 4 {
				compute(20 * time.Microsecond)
				mu.Lock()
				sched.Sleep(200 * time.Microsecond)
				mu.Unlock()
			}
		})
	}
}

func enqueue(s *sched.Scheduler, name string, f func()) {
	check(s.Enqueue(sched.Task{Name: name, Func: f}))
}

// compute keeps the worker busy for that long.
func compute(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}

func write(page, title string, r *trace.Recorder) {
	var recorded bytes.Buffer
	check(r.WriteTrace(&recorded))
	f, err := os.Create(page)
	check(err)
	check(timeline.Write(f, title, recorded.Bytes()))
	check(f.Close())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
