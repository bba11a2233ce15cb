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
	sample, err := session.Switch(999)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Name, sample.Switches, "switches; measured:", sample.PerSwitch() > 0)
	// Output: asm 1000 switches; measured: true
}

// Measure all mechanisms side by side. Rows come in the order of Mechanisms, so the first one is asm, to
// which ratios are taken.
func ExampleMeasure() {
	rows, err := bench.Measure(context.Background(), bench.Options{Rounds: 3, Sample: 200 * time.Microsecond}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(rows) == len(bench.Mechanisms()), rows[0].Mechanism, rows[0].Ratio, rows[0].Samples)
	// Output: true asm 1 3
}

// A ring of nine contexts and the caller: each switches to the next, and the last one to the first.
func ExampleOpenRing() {
	ring, err := bench.OpenRing(9)
	if err != nil {
		fmt.Println(err)
		return
	}
	sample, err := ring.Switch(1000)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sample.Switches, "switches; measured:", sample.PerSwitch() > 0)
	fmt.Println(ring.Close())
	// Output:
	// 1000 switches; measured: true
	// <nil>
}
