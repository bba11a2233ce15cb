package bench_test

import (
	"context"
	"fmt"
	"time"

	"fiberlab/bench"
)

// Open one mechanism and switch by it. The number of switches is rounded up to whole round trips.
func Example() {
	m := bench.Mechanisms()[0]
	session, err := m.Open()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	sample, err := session.Run(999)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Name, sample.Operations, "switches; measured:", sample.PerOperation() > 0)
	// Output: asm 1000 switches; measured: true
}

// Measure the switches side by side. Ratios are to asm.
func ExampleMeasure() {
	report, err := bench.Measure(context.Background(), bench.Options{
		Workloads: []bench.Workload{bench.Switch()}, Rounds: 3, Sample: 200 * time.Microsecond,
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	group := report.Groups[0]
	fmt.Println(group.Base, group.Unit, len(group.Row("ucontext", 0).Samples))
	// Output: asm ns a switch 3
}

// A ring of nine contexts and the caller: each switches to the next, and the last one to the first.
func ExampleOpenRing() {
	ring, err := bench.OpenRing(9)
	if err != nil {
		fmt.Println(err)
		return
	}
	sample, err := ring.Run(1000)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sample.Operations, "switches; measured:", sample.PerOperation() > 0)
	fmt.Println(ring.Close())
	// Output:
	// 1000 switches; measured: true
	// <nil>
}
