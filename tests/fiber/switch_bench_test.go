package fiber_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/bench"
	"fiberlab/fiber"
	"fiberlab/stack/stacktest"
	"fiberlab/tests/internal/cbody"
)

// fewestSwitches is the least number of switches of a sub-benchmark, whatever b.N is. So -benchtime=1x shows the price
// of a switch, and not the price of reading the clock.
const fewestSwitches = 1000

// BenchmarkSwitch measures a switch of each mechanism, one mechanism after the other. An op is a switch:
// ns/op and ns/switch are the same. For ratios use the command's switch-cost table, which takes the
// mechanisms in turn.
func BenchmarkSwitch(b *testing.B) {
	for _, m := range bench.Mechanisms() {
		b.Run(m.Name, func(b *testing.B) {
			s, err := m.Open()
			if absent := new(bench.Absent); errors.As(err, &absent) {
				b.Skip(err)
			}
			require.NoError(b, err)
			measureSwitches(b, s)
			require.NoError(b, s.Close())
		})
	}
}

// BenchmarkCgoCall measures a call of C that does nothing. A switch between Go functions on fibers of C is made in one
// such call, so it cannot take less.
func BenchmarkCgoCall(b *testing.B) {
	for b.Loop() {
		cbody.Visit()
	}
}

// BenchmarkRing hands the thread round a ring of many fibers: with 100,000 of them, no context and no
// stack is in a cache when its turn comes. An op is a switch. The C rings are bare contexts in a C loop.
// The Go rings use the public Go face and are measured from their second lap on. There is no Go ring of
// 100,000, because it takes longer to make than to measure.
func BenchmarkRing(b *testing.B) {
	for _, ring := range []struct {
		name string
		open func() (bench.Session, error)
	}{
		{"asm/c/ring=1000", func() (bench.Session, error) { return bench.OpenRing(1000) }},
		{"asm/c/ring=100000", func() (bench.Session, error) { return bench.OpenRing(stacktest.Held(b, 100000)) }},
		{"asm/go/ring=1000", func() (bench.Session, error) { return bench.OpenGoRing(fiber.Asm, 1000) }},
		{"ucontext/go/ring=1000", func() (bench.Session, error) { return bench.OpenGoRing(fiber.Ucontext, 1000) }},
		{"goroutine/go/ring=1000", func() (bench.Session, error) { return bench.OpenGoRing(fiber.Goroutine, 1000) }},
	} {
		// Made once: the function below is called with one b.N after the other.
		var s bench.Session
		b.Run(ring.name, func(b *testing.B) {
			if s == nil {
				var err error
				s, err = ring.open()
				require.NoError(b, err)
			}
			measureSwitches(b, s)
		})
		if s != nil {
			require.NoError(b, s.Close())
			require.NoError(b, fiber.Drain())
		}
	}
}

// measureSwitches times b.N switches of s, or more if b.N is small, and reports the time of one.
func measureSwitches(b *testing.B, s bench.Session) {
	b.ResetTimer()
	sample, err := s.Run(max(b.N, fewestSwitches))
	b.StopTimer()
	require.NoError(b, err)
	b.ReportMetric(sample.PerOperation(), "ns/switch")
	b.ReportMetric(sample.PerOperation(), "ns/op")
}
