// Command check-run reads the report of `fiberlab run --json` from standard input. It fails unless the report is
// complete: every backend counted under every policy, all counts agree, and every way of switching was timed.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
)

type report struct {
	Pipeline struct {
		Agree    bool
		Files    int
		Words    int
		Backends []struct {
			Backend  string
			Policy   string
			Words    int
			Switches int
			Agrees   bool
		}
	}
	SwitchCost struct {
		Rows []struct {
			Name   string
			Median float64
		}
	} `json:"switch_cost"`
}

var (
	backends   = []string{"asm", "ucontext", "goroutine"}
	policies   = []string{"stealing", "roundrobin", "group"}
	mechanisms = []string{"asm", "asm-inline", "asm-nofp", "ucontext", "goroutine", "channel", "threads"}
)

func main() {
	if err := check(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "check-run:", err)
		os.Exit(1)
	}
}

func check(from io.Reader) error {
	var r report
	decoder := json.NewDecoder(from)
	if err := decoder.Decode(&r); err != nil {
		return fmt.Errorf("not a report: %w", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return fmt.Errorf("something follows the report")
	}

	p := r.Pipeline
	if p.Files == 0 || p.Words == 0 || !p.Agree {
		return fmt.Errorf("%d files, %d words, backends agree: %v", p.Files, p.Words, p.Agree)
	}
	var worked []string
	for _, b := range p.Backends {
		if b.Words == p.Words && b.Switches > 0 && b.Agrees {
			worked = append(worked, b.Backend+" "+b.Policy)
		}
	}
	var all []string
	for _, policy := range policies {
		for _, backend := range backends {
			all = append(all, backend+" "+policy)
		}
	}
	if missing := without(all, worked); len(missing) > 0 {
		return fmt.Errorf("no sound count on %q", missing)
	}

	var timed []string
	for _, row := range r.SwitchCost.Rows {
		if row.Median > 0 {
			timed = append(timed, row.Name)
		}
	}
	if missing := without(mechanisms, timed); len(missing) > 0 {
		return fmt.Errorf("no switch cost for %v", missing)
	}
	fmt.Printf("check-run: %d words in %d files, %d counts agree, %d switches timed\n",
		p.Words, p.Files, len(worked), len(timed))
	return nil
}

func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
}
