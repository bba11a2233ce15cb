package trace_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"fiberlab/sched"
	"fiberlab/sched/trace"
)

// A recorder counts each transition of each fiber, and keeps the latest.
func ExampleRecorder() {
	r := trace.NewRecorder(100)
	s, err := sched.New(sched.Config{Workers: 1, Recorder: r})
	report(err)
	for range 3 {
		report(s.Enqueue(
			sched.Task{Name: "sleeper", Func: func() { sched.Current().WaitFor(nil, time.Microsecond, nil) }},
		))
	}
	report(s.Close())
	counts := r.Transitions()
	fmt.Println("waits with a deadline:", counts.Of(sched.Running, sched.Waiting))
	fmt.Println("kept one by one:", len(r.Events()) > 0)
	fmt.Println("sleepers begun:", r.TaskTimes()["sleeper"].Tasks)
	// Output:
	// waits with a deadline: 3
	// kept one by one: true
	// sleepers begun: 3
}

// What is kept can be written as a file for a trace viewer.
func ExampleRecorder_WriteTrace() {
	r := trace.NewRecorder(100)
	report(sched.Run(sched.Config{Workers: 1, Recorder: r}, sched.Yield))
	var file bytes.Buffer
	report(r.WriteTrace(&file))
	fmt.Println("JSON:", json.Valid(file.Bytes()))
	// Output: JSON: true
}

func report(err error) {
	if err != nil {
		fmt.Println(err)
	}
}
