// Package predict compares what people guess of costs with what is measured.
package predict

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fiberlab/bench"
)

// Guesses are what one person guesses: nanoseconds, by the names of mechanisms. Not all need be there.
type Guesses map[string]float64

// ErrNone is the error of guesses that hold none.
var ErrNone = errors.New("no guess: give at least one")

var units = []struct {
	name string
	size float64 // nanoseconds
}{{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}

// The least and the most that may be guessed, in nanoseconds: what the axis of a plot can still show.
const least, most = 1e-3, 1e15

// ParseCost reads a time such as "3.4", "3.4 ns", "2us" or "0.1 ms", and returns it in nanoseconds. A number alone is
// nanoseconds. A time must be from 0.001 ns to 1,000,000 s.
func ParseCost(text string) (float64, error) {
	digits, size := strings.TrimSpace(text), 1.0
	for _, unit := range units {
		if before, found := strings.CutSuffix(digits, unit.name); found {
			digits, size = strings.TrimSpace(before), unit.size
			break
		}
	}
	cost, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsNaN(cost) || math.IsInf(cost, 0) {
		return 0, fmt.Errorf("%q is no time: give a number of nanoseconds, or a number and ns, us, ms or s", text)
	}
	if cost *= size; cost < least || cost > most {
		return 0, fmt.Errorf("%q is no cost of a switch: give a time from 0.001 ns to 1000000 s", text)
	}
	return cost, nil
}

// Read reads the guesses of one person from a file, or the guesses of a class from a folder of such files. It skips
// files whose names begin with a dot. A file has a line for each guess: one of the mechanisms that are asked for, and a
// time. Empty lines, and what follows a #, count for nothing. An error names the file, the line and the remedy.
func Read(path string, asked []bench.Mechanism) (class []Guesses, err error) {
	files := []string{path}
	if entries, err := os.ReadDir(path); err == nil { // path is a folder
		files = nil
		for _, entry := range entries {
			if !entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
				files = append(files, filepath.Join(path, entry.Name()))
			}
		}
	}
	for _, file := range files {
		g, err := readFile(file, asked)
		if err != nil {
			return nil, err
		}
		class = append(class, g)
	}
	if len(class) == 0 {
		return nil, fmt.Errorf("%s has no files: put one there for each person, with lines such as: %s 100 ns",
			path, asked[0].Name)
	}
	return class, nil
}

func readFile(path string, asked []bench.Mechanism) (Guesses, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: name a file with guesses, or a folder of such files", err)
	}
	g := Guesses{}
	for i, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if err := g.add(words[0], strings.Join(words[1:], " "), asked); err != nil {
			return g, fmt.Errorf("%s, line %d: %w", path, i+1, err)
		}
	}
	if len(g) == 0 {
		return g, fmt.Errorf("%s: %w, such as: %s 100 ns", path, ErrNone, asked[0].Name)
	}
	return g, nil
}

func (g Guesses) add(name, cost string, asked []bench.Mechanism) error {
	var names []string
	for _, m := range asked {
		names = append(names, m.Name)
	}
	if !slices.Contains(names, name) {
		return fmt.Errorf("%q is not asked for: choose one of %s", name, strings.Join(names, ", "))
	}
	if _, twice := g[name]; twice {
		return fmt.Errorf("a second guess of %s: leave one out", name)
	}
	ns, err := ParseCost(cost)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	g[name] = ns
	return nil
}

// Ask asks on out what an operation costs by each mechanism, and reads an answer from in: a time, or an empty line for
// no guess. It asks again after an answer that is no time. The end of input ends the questions. It returns ErrNone if
// there was no guess at all.
func Ask(in io.Reader, out io.Writer, asked []bench.Mechanism) (Guesses, error) {
	g := Guesses{}
	lines := bufio.NewScanner(in)
	for i := 0; i < len(asked); {
		fmt.Fprintf(out, "%d of %d  %s, %s: ", i+1, len(asked), asked[i].Name, asked[i].Says)
		if !lines.Scan() {
			fmt.Fprintln(out)
			break
		}
		if answer := strings.TrimSpace(lines.Text()); answer != "" {
			if err := g.add(asked[i].Name, answer, asked); err != nil {
				fmt.Fprintln(out, err)
				continue
			}
		}
		i++
	}
	if err := lines.Err(); err != nil || len(g) > 0 {
		return g, err
	}
	return g, ErrNone
}

// Compared is the figures of a row, in nanoseconds, and what people guessed of it.
type Compared struct {
	Name    string
	Median  float64
	Low     float64
	High    float64
	Guesses []float64 // the least first
}

// Compare lays the guesses of all people beside the rows, in the order of the rows. It leaves out a row
// without a guess.
func Compare(rows []bench.Row, people []Guesses) []Compared {
	var all []Compared
	for _, r := range rows {
		c := Compared{Name: r.Name, Median: r.Median, Low: r.Low, High: r.High}
		for _, g := range people {
			if guess, made := g[r.Name]; made {
				c.Guesses = append(c.Guesses, guess)
			}
		}
		slices.Sort(c.Guesses)
		if len(c.Guesses) > 0 {
			all = append(all, c)
		}
	}
	return all
}

// Off is by which factor, at least 1, a guess was off in either direction.
func (c Compared) Off(guess float64) float64 { return max(guess/c.Median, c.Median/guess) }

// Middle is the median of the guesses: of an even number, the lower one of the two in the middle.
func (c Compared) Middle() float64 { return c.Guesses[(len(c.Guesses)-1)/2] }

// Verdict says by which factor a guess of c was off: "right" if it is within the interval.
func (c Compared) Verdict(guess float64) string {
	factor := bench.Figure(c.Off(guess))
	switch {
	case guess >= c.Low && guess <= c.High:
		return "right"
	case guess > c.Median:
		return fmt.Sprintf("%s times too much", factor)
	}
	return fmt.Sprintf("too little by a factor of %s", factor)
}
