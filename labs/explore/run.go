package explore

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options say which schedules to try. The zero value tries all of them: those without a preemption first, then those
// with one, and so on, until one fails.
type Options struct {
	Preemptions int           // try those with at most this many; 0: any number; see NoPreemption
	Schedules   int           // stop after this many; 0: no limit
	Time        time.Duration // stop after this time; 0: 10 s
	Random      bool          // draw the schedules
	Seed        uint64        // by this number
	Stops       int           // at most this many threads stop and never go on, each after any of its steps
	All         bool          // go on after a failure: all outcomes are wanted; not with Preemptions or Random
	Replay      string        // run this schedule alone

	// Progress, if it is not nil, is called with how far the search is, twice a second at most. The bound is -1 in a
	// search without one.
	Progress func(bound, schedules int)
}

// NoPreemption is the value of Options.Preemptions by which a thread goes on until it waits or ends.
const NoPreemption = -1

// MostStops is the largest number of Options.Stops.
const MostStops = 6

// words are the flags of the program.
func (o *Options) words() []string {
	var words []string
	add := func(wanted bool, flag string, value ...string) {
		if wanted {
			words = append(append(words, flag), value...)
		}
	}
	add(o.Preemptions != 0, "--preemptions", strconv.Itoa(max(o.Preemptions, 0)))
	add(o.Schedules > 0, "--schedules", strconv.Itoa(o.Schedules))
	add(o.Time > 0, "--seconds", strconv.FormatFloat(o.Time.Seconds(), 'f', -1, 64))
	add(o.Random, "--random")
	add(o.Random || o.Seed != 0, "--seed", strconv.FormatUint(o.Seed, 10))
	add(o.Stops > 0, "--stops", strconv.Itoa(o.Stops))
	add(o.All, "--all")
	add(o.Replay != "", "--replay", o.Replay)
	return words
}

// message is a line that the program prints.
type message struct {
	Progress *struct {
		Bound     int `json:"bound"`
		Schedules int `json:"schedules"`
	} `json:"progress"`
	Result *Result `json:"result"`
}

// ErrNoResult says that the program did not print what its runtime prints at the end: it was ended, or ended itself.
var ErrNoResult = errors.New("the program ended without a result")

// mostPrinted is how many bytes a program may print. The longest result has less.
const mostPrinted = 64 << 20

// Run tries schedules of the program. If ctx ends, so does the program, and Run returns the error of ctx. An error that
// wraps ErrNoResult, and one that wraps ErrSchedule, is about the program; another one is about this machine.
func (p *Program) Run(ctx context.Context, o Options) (*Result, error) {
	argv := append([]string{p.Path}, o.words()...)
	if p.Command != nil {
		argv = p.Command(argv)
	} else {
		argv = slices.Concat(strings.Fields(os.Getenv("FIBERLAB_EXEC")), argv)
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	c := exec.CommandContext(running, argv[0], argv[1:]...)
	c.WaitDelay = time.Second
	said := &beginning{}
	c.Stderr = said
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	printed := &io.LimitedReader{R: out, N: mostPrinted}
	result, wrong := read(bufio.NewReader(printed), o.Progress)
	if printed.N == 0 {
		stop()
		result, wrong = nil, fmt.Errorf("it printed more than %d MB", mostPrinted>>20)
	}
	ended := c.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	const misuse = 2
	if exit := new(exec.ExitError); o.Replay != "" && errors.As(ended, &exit) && exit.ExitCode() == misuse {
		return nil, fmt.Errorf("%q: %w", o.Replay, ErrSchedule)
	}
	if result != nil && wrong == nil {
		wrong = result.wellFormed()
	}
	if result != nil && wrong == nil && c.ProcessState.ExitCode() != map[Verdict]int{Pass: 0, Fail: 1}[result.Verdict] {
		wrong = fmt.Errorf("it printed one, and not as the last thing it did: %v", c.ProcessState)
	}
	if result == nil || wrong != nil {
		return nil, noResult(cmp.Or(wrong, ended), said.text.String())
	}
	result.program, result.options = p, o
	return result, nil
}

// read reads what the program prints, until its end, and returns the result. It drops lines that are not the runtime's,
// since the program may print, too.
func read(lines *bufio.Reader, progress func(bound, schedules int)) (result *Result, wrong error) {
	for {
		line, err := lines.ReadBytes('\n')
		if bytes.HasPrefix(line, []byte(`{"`)) {
			var m message
			if bad := json.Unmarshal(line, &m); bad != nil {
				wrong = fmt.Errorf("%w in %.100q", bad, line)
			}
			if m.Progress != nil && progress != nil {
				progress(m.Progress.Bound, m.Progress.Schedules)
			}
			if m.Result != nil && result != nil {
				wrong = errors.New("it printed two results")
			}
			if m.Result != nil {
				result = m.Result
			}
		}
		if err != nil {
			return result, wrong
		}
	}
}

// noResult is the error of a program that has ended without a result.
func noResult(err error, said string) error {
	if said = strings.TrimSpace(said); said != "" {
		return fmt.Errorf("%w: %s", ErrNoResult, said)
	}
	if err == nil {
		err = errors.New("it printed none")
	}
	return fmt.Errorf("%w: %w", ErrNoResult, err)
}

// beginning keeps the beginning of what is written to it.
type beginning struct{ text bytes.Buffer }

// Write takes all of p and keeps what there is room for.
func (b *beginning) Write(p []byte) (int, error) {
	const most = 4000
	b.text.Write(p[:min(len(p), most-b.text.Len())])
	return len(p), nil
}
