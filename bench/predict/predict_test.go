package predict

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/bench"
)

var asked = []bench.Mechanism{{Name: "asm", Says: "a bare switch"}, {Name: "threads", Says: "two threads by futex"}}

func TestParseCost(t *testing.T) {
	for text, want := range map[string]float64{
		"3": 3, "3.5ns": 3.5, " 0.8 ns ": 0.8, "2us": 2000, "2 µs": 2000, "1ms": 1e6, "1e-9s": 1e-9 * 1e9,
	} {
		got, err := ParseCost(text)
		require.NoError(t, err, text)
		require.InDelta(t, want, got, 1e-9, text)
	}
	for text, says := range map[string]string{
		"": "no time", "fast": "no time", "ns": "no time", "3 min": "no time", "NaN": "no time", "Inf": "no time",
		"0": "no cost of a switch", "-1 ns": "no cost of a switch", "1e400": "no time", "1e308 s": "no cost of a switch",
	} {
		_, err := ParseCost(text)
		require.ErrorContains(t, err, says, text)
	}
}

func TestReadNamesTheLine(t *testing.T) {
	read := func(name, text string) ([]Guesses, error) {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return Read(path, asked)
	}
	g, err := read("ada.txt", "# mine\n\nasm\t3 ns # bare\nthreads 2us")
	require.NoError(t, err)
	require.Equal(t, []Guesses{{"asm": 3, "threads": 2000}}, g)
	for text, says := range map[string]string{
		"asm 1\nasn 2":  `f, line 2: "asn" is not asked for: choose one of asm, threads`,
		"asm 1\nasm 2":  "f, line 2: a second guess of asm",
		"\nasm\r\n":     `f, line 2: asm: "" is no time`,
		"asm 1 2":       `f, line 1: asm: "1 2" is no time`,
		"# nothing\n\n": "f: no guess: give at least one, such as: asm 100 ns",
	} {
		_, err := read("f", text)
		require.ErrorContains(t, err, says)
	}
}

func TestReadOfAFolder(t *testing.T) {
	dir := t.TempDir()
	_, err := Read(dir, asked)
	require.ErrorContains(t, err, "has no files")
	_, err = Read(dir+"/none", asked)
	require.ErrorContains(t, err, "no such file or directory: name a file with guesses, or a folder of such files")
	for name, text := range map[string]string{"ada.txt": "asm 3", "bob": "asm 30\nthreads 1", ".swp": "what", "c/x": ""} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	class, err := Read(dir, asked)
	require.NoError(t, err)
	require.Equal(t, []Guesses{{"asm": 3}, {"asm": 30, "threads": 1}}, class)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cyd"), []byte("x"), 0o644))
	_, err = Read(dir, asked)
	require.ErrorContains(t, err, "cyd, line 1")
}

func TestAsk(t *testing.T) {
	var out strings.Builder
	g, err := Ask(strings.NewReader("quick\n5\n\n"), &out, asked)
	require.NoError(t, err)
	require.Equal(t, Guesses{"asm": 5}, g)
	require.Equal(t, 2, strings.Count(out.String(), "1 of 2  asm, a bare switch: "), "it is asked again")
	require.Contains(t, out.String(), `"quick" is no time`)
	require.Contains(t, out.String(), "2 of 2  threads, two threads by futex: ")

	g, err = Ask(strings.NewReader("5"), &out, asked)
	require.NoError(t, err, "the end of input ends the questions")
	require.Len(t, g, 1)
	for _, input := range []string{"", "\n", "\n\n"} {
		_, err = Ask(strings.NewReader(input), &out, asked)
		require.ErrorIs(t, err, ErrNone, "%q", input)
	}
}

func TestCompare(t *testing.T) {
	rows := []bench.Row{
		{Name: "asm", Median: 10, Low: 9, High: 11}, {Name: "absent", Median: 5, Low: 4, High: 6},
		{Name: "threads", Median: 2000, Low: 1900, High: 2100},
	}
	all := Compare(rows, []Guesses{
		{"asm": 10.5, "threads": 500}, {"asm": 40}, {"asm": 2},
	})
	require.Len(t, all, 2, "nobody guessed the other one")
	require.Equal(t, []float64{2, 10.5, 40}, all[0].Guesses)
	require.Equal(t, 10.5, all[0].Middle())
	require.Equal(t, "right", all[0].Verdict(10.5), "within the interval")
	require.Equal(t, "4 times too much", all[0].Verdict(40))
	require.Equal(t, "too little by a factor of 5", all[0].Verdict(2))
}

func ExampleCompare() {
	rows := []bench.Row{{Name: "asm", Median: 7, Low: 6.9, High: 7.1}}
	for _, c := range Compare(rows, []Guesses{{"asm": 70}}) {
		fmt.Println(c.Name, c.Verdict(c.Guesses[0]))
	}
	// Output: asm 10 times too much
}
