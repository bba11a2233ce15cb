package report

import (
	"math"
	"math/rand/v2"
	"time"

	"fiberlab/bench"
)

// planted is a row with a known median; its samples are scattered by 3 %, and a few are half as long again.
func planted(name string, at, median float64) bench.Row {
	rng := rand.New(rand.NewPCG(1, math.Float64bits(median)))
	r := bench.Row{
		Name: name, At: at, Median: median, Low: median * 0.98, High: median * 1.02, Operations: 1000,
		Ratio: median / 6.76, RatioLow: median / 6.9, RatioHigh: median / 6.6,
		Sentence: "A switch by " + name + " is like this.",
	}
	for range 51 {
		v := median * math.Exp(rng.NormFloat64()*0.03)
		if rng.IntN(30) == 0 {
			v *= 1.5
		}
		r.Samples = append(r.Samples, v)
	}
	return r
}

// sample is a report with all that a page can show. Nothing in it was measured.
func sample() *bench.Report {
	rows := bench.Group{
		Name: "switch", Title: "A switch", Unit: "ns a switch", Base: "asm", Floor: 0.31, Rounds: 51,
		Noise: "the median of asm is known to 12 % only", Notes: []string{"The floor has four turns a loop."},
		Rows: []bench.Row{
			planted("asm", 0, 6.76), planted("asm-inline", 0, 0.79), planted("asm-nofp", 0, 3.43), planted("ucontext", 0, 189),
			planted("threads", 0, 1992), planted("go-on-ucontext", 0, 279),
		},
		Skipped: []bench.Skipped{{Name: "boost", Why: "no Boost.Context", Remedy: "apt-get install libboost-context-dev"}},
	}
	rows.Rows[0].Ratio, rows.Rows[1].Ratio = 1, 0
	for i, code := range []string{"pop    %rcx\nmov    %rbx,(%rdi)\njmp    *%rdx", "lea    0x3(%rip),%rax\njmp    *%rdx"} {
		r := &rows.Rows[2-i]
		r.Listing, r.Instructions = code, 3-float64(i)
	}
	ring := bench.Group{
		Name: "ring", Title: "A ring", Unit: "ns a switch", Base: "asm", Axis: "fibers",
		Marks: []bench.Mark{{At: 1500, Label: "TLB ends"}, {At: 170, Label: "L1 ends"}, {At: 2e5, Label: "L3 ends"}},
	}
	for n := 2.0; n <= 1e6; n *= 3 {
		ring.Rows = append(ring.Rows, planted("asm", n, 4+3*math.Log(1+n/300)),
			planted("ucontext", n, 190+3*math.Log(1+n/300)))
	}
	return &bench.Report{
		Schema: bench.Schema, Started: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC), Groups: []bench.Group{rows, ring},
		Machine: bench.Machine{
			CPU: "Planted", CPUs: 2, Arch: "amd64", Kernel: "Linux 6.1", Go: "go1.26", Flags: "-O2", Virtual: "yes",
			Emulated: true, Caches: []bench.Cache{{Level: 1, Bytes: 32768, Line: 64}}, PageBytes: 4096,
		},
	}
}
