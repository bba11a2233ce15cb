package forkjoin_test

import (
	"debug/elf"
	"debug/gosym"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/tests/internal/futures"
)

// quad is a value that does not fit a word.
type quad struct{ a, b, c, d int }

// BenchmarkAny makes a future and gets its result, which the caller computes: as futures.Any (future=any) and as
// futures.Typed (future=typed), for values of several types. Its task returns its argument. code-B is the code that the
// future takes in this program for that type, without what all types share.
func BenchmarkAny(b *testing.B) {
	benchAny(b, "byte", byte(7), "uint8")
	benchAny(b, "int", 1<<20, "int")
	benchAny(b, "float64", 2.5, "float64")
	benchAny(b, "string", "a text", "string")
	benchAny(b, "pointer", &quad{}, "*")
	benchAny(b, "struct", quad{1, 2, 3, 4}, "struct")
}

func benchAny[T comparable](b *testing.B, name string, value T, shape string) {
	b.Run("value="+name+"/future=any", func(b *testing.B) {
		b.ReportAllocs()
		task := func(argument any) any { return argument.(T) }
		for b.Loop() {
			if futures.NewAny(task, value).Get().(T) != value {
				b.Fatal("another result")
			}
		}
		b.ReportMetric(float64(codeSize(b, "futures.NewAny", "futures.(*Any).Get")), "code-B")
	})
	b.Run("value="+name+"/future=typed", func(b *testing.B) {
		b.ReportAllocs()
		task := func(argument T) T { return argument }
		for b.Loop() {
			if futures.NewTyped(task, value).Get() != value {
				b.Fatal("another result")
			}
		}
		of := "[go.shape." + shape
		b.ReportMetric(float64(codeSize(b, "futures.NewTyped"+of, "futures.(*Typed"+of)), "code-B")
	})
}

// codeSize returns how many bytes the functions of this program take whose names begin with one of those, after
// the path of their package.
func codeSize(t require.TestingT, names ...string) (size uint64) {
	path, err := os.Executable()
	require.NoError(t, err)
	file, err := elf.Open(path)
	require.NoError(t, err)
	defer file.Close()
	lines := file.Section(".gopclntab")
	require.NotNil(t, lines)
	data, err := lines.Data()
	require.NoError(t, err)
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, file.Section(".text").Addr))
	require.NoError(t, err)
	for _, f := range table.Funcs {
		for _, name := range names {
			if _, after, _ := strings.Cut(f.Name, "internal/"); strings.HasPrefix(after, name) {
				size += f.End - f.Entry
			}
		}
	}
	return size
}

func TestFuturesOfBothKinds(t *testing.T) {
	runs := 0
	dynamic := futures.NewAny(func(argument any) any { runs++; return argument.(int) + 1 }, 1)
	typed := futures.NewTyped(func(argument int) int { runs++; return argument + 1 }, 1)
	for range 2 {
		assert.Equal(t, 2, dynamic.Get())
		assert.Equal(t, 2, typed.Get())
	}
	assert.Equal(t, 2, runs, "each runs once")

	begun, end := make(chan struct{}), make(chan struct{})
	slow := futures.NewTyped(func(argument int) int { close(begun); <-end; return argument }, 3)
	var results [2]int
	go func() { slow.Get() }()
	<-begun
	over := make(chan struct{})
	for i := range results {
		go func() { results[i] = slow.Get(); over <- struct{}{} }()
	}
	close(end)
	for range results {
		<-over
	}
	assert.Equal(t, [2]int{3, 3}, results)
}
