// Tally takes the place of `go test`: it runs `go test` with its arguments, prints what that would print, and counts.
// The counts are added to build/tally.json. `tally -close` prints the sum of all since `tally -open`, and says how many
// tests were left out, and why. To `go test` a skipped test looks like one that passed.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strings"
)

const file = "build/tally.json"

func main() {
	var err error
	switch args := os.Args[1:]; {
	case slices.Equal(args, []string{"-open"}):
		err = os.RemoveAll(file)
	case slices.Equal(args, []string{"-close"}):
		err = closing(os.Stdout)
	default:
		err = run(args)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		os.Exit(max(exit.ExitCode(), 1))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
		os.Exit(1)
	}
}

// run runs `go test` with args and adds its counts to the file. It returns the error of `go test`.
func run(args []string) error {
	c := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	// go test has the interrupt too, and ends. The signal is not ignored:
	// go test would inherit that until it runs tests.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	if err := c.Start(); err != nil {
		return err
	}
	t := Tally{LeftOut: map[string]int{}}
	t.read(out, os.Stdout, slices.Contains(args, "-v"))
	if err := c.Wait(); err != nil {
		fmt.Println(t)
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(f).Encode(t), f.Close())
}

// closing prints the sum of what the runs have added to the file.
func closing(w io.Writer) error {
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil // another command has taken the place of go test
	}
	if err != nil {
		return err
	}
	defer f.Close()
	sum := Tally{LeftOut: map[string]int{}}
	for d := json.NewDecoder(f); d.More(); {
		var t Tally
		if err := d.Decode(&t); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		sum.Passed += t.Passed
		for why, n := range t.LeftOut {
			sum.LeftOut[why] += n
		}
	}
	reasons := sum.reasons()
	if len(reasons) > 0 {
		fmt.Fprintln(w, "Left out:")
	}
	for _, why := range reasons {
		fmt.Fprintf(w, "%5d  %s\n", sum.LeftOut[why], why)
	}
	fmt.Fprintln(w, sum)
	return nil
}

// Tally holds the counts. It counts top-level tests that pass or fail; of the tests that are left out it counts
// subtests too.
type Tally struct {
	Passed  int
	Failed  []string       `json:",omitempty"` // their names and packages
	LeftOut map[string]int // how many were skipped for which reason
}

// reasons are those why tests were left out, the most frequent first.
func (t Tally) reasons() []string {
	return slices.SortedFunc(maps.Keys(t.LeftOut), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.LeftOut[b], t.LeftOut[a]), cmp.Compare(a, b))
	})
}

// String is the closing line.
func (t Tally) String() string {
	line := fmt.Sprintf("fiberlab: %d tests passed, ", t.Passed)
	if len(t.Failed) == 0 {
		line += "none failed"
	} else {
		line += fmt.Sprintf("%d failed (%s)", len(t.Failed), strings.Join(t.Failed, ", "))
	}
	// reasons up to their first colon: details and remedies stand behind it
	left, most, short := 0, "", map[string]int{}
	for _, why := range t.reasons() {
		head, _, _ := strings.Cut(why, ": ")
		left += t.LeftOut[why]
		short[head] += t.LeftOut[why]
		if short[head] > short[most] {
			most = head
		}
	}
	switch len(short) {
	case 0:
		return line + ", none was left out"
	case 1:
		return line + fmt.Sprintf("; left out, whole or in part: %d: %s", left, most)
	default:
		return line + fmt.Sprintf("; left out, whole or in part: %d, of which %d: %s", left, short[most], most)
	}
}

// event is a line that `go test -json` prints.
type event struct{ Action, Package, Test, Output string }

// group is what a test has printed; with an empty name, what its package has.
type group struct {
	test string
	said []string
}

var (
	result   = regexp.MustCompile(`^(ok  |\?   )`)
	progress = regexp.MustCompile(`^=== (RUN|PAUSE|CONT|NAME) `)
	logged   = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)\n`)
)

// read counts what `go test -json` reports, and prints what `go test` would print, with -v if verbose. For a package
// that passes, this is its result. For one that fails, it is the output of the package and of its tests that have not
// passed.
func (t *Tally) read(in io.Reader, w io.Writer, verbose bool) {
	packages := map[string][]*group{} // those that run, with their tests in the order in which they began
	for lines := bufio.NewReader(in); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil && len(line) == 0 {
			return
		}
		var e event
		if json.Unmarshal(line, &e) != nil {
			_, _ = w.Write(line) // not of a test
			continue
		}
		groups := packages[e.Package]
		at := slices.IndexFunc(groups, func(g *group) bool { return g.test == e.Test })
		if at < 0 {
			at = len(groups)
			groups = append(groups, &group{test: e.Test})
			packages[e.Package] = groups
		}
		g := groups[at]
		switch {
		case e.Action == "build-output", e.Action == "output" && e.Test == "" && result.MatchString(e.Output):
			fmt.Fprint(w, e.Output)
		case e.Action == "output":
			if verbose {
				fmt.Fprint(w, e.Output)
			}
			if !progress.MatchString(e.Output) {
				g.said = append(g.said, e.Output)
			}
		}
		ended := e.Action == "pass" || e.Action == "fail" || e.Action == "skip"
		switch {
		case !ended:
		case e.Test == "":
			if e.Action == "fail" {
				t.failed(e.Package)
				if !verbose {
					printFailed(groups, w)
				}
			}
			delete(packages, e.Package)
		case e.Action == "skip":
			t.LeftOut[g.reason()]++
			g.said = nil
		case e.Action == "pass":
			g.said = nil
			if !strings.Contains(e.Test, "/") {
				t.Passed++
			}
		case !strings.Contains(e.Test, "/"):
			t.Failed = append(t.Failed, e.Test+" of "+e.Package)
		}
	}
}

// failed counts a package that has failed, if none of its tests has.
func (t *Tally) failed(name string) {
	if !slices.ContainsFunc(t.Failed, func(test string) bool { return strings.HasSuffix(test, " of "+name) }) {
		t.Failed = append(t.Failed, name)
	}
}

// printFailed prints what a package that has failed printed, and what its tests did that have not passed.
func printFailed(groups []*group, w io.Writer) {
	for _, last := range []bool{false, true} { // the package's result comes last
		for _, g := range groups {
			if (g.test == "") == last {
				fmt.Fprint(w, strings.Join(g.said, ""))
			}
		}
	}
}

// reason is what a test that was skipped has logged last.
func (g *group) reason() string {
	for _, line := range slices.Backward(g.said) {
		if m := logged.FindStringSubmatch(line); m != nil {
			return m[1]
		}
	}
	return "no reason given"
}
