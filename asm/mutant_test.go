package asm

import (
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/asm/ctest"
)

// Every instruction of the switch and of the trampoline is there because something breaks without it. There are two
// exceptions: only a processor that checks branch targets needs the landing pads, and without the shortcut past the load of
// the control word on arm64 a switch takes longer.
var (
	instruction = regexp.MustCompile(`^\s+([a-z]\w*|RESUME|\.cfi_undefined)\b`)
	spare       = regexp.MustCompile(`^\s+(endbr64|BTI_C|b\.eq)\b`)
	comment     = regexp.MustCompile(`(?s)/\*.*?\*/`)
)

// The same of the inline switch.
var inlineInstruction = regexp.MustCompile(`^\s+("[a-z].*\\n|MARL_RESUME ")`)

// mutant is a faulty text of a source.
type mutant struct {
	fault string
	text  string
}

// without returns a mutant for each line of text that matches what and not except.
func without(text string, what, except *regexp.Regexp) []mutant {
	blank := func(text string) string { return strings.Repeat("\n", strings.Count(text, "\n")) }
	lines := strings.Split(text, "\n")
	var mutants []mutant
	for i, line := range strings.Split(comment.ReplaceAllStringFunc(text, blank), "\n") {
		if what.MatchString(line) && !except.MatchString(line) {
			rest := append(append([]string{}, lines[:i]...), lines[i+1:]...)
			fault := "no line " + strconv.Itoa(i+1) + ", " + strings.TrimSpace(line)
			mutants = append(mutants, mutant{fault, strings.Join(rest, "\n")})
		}
	}
	return mutants
}

// caught runs the prober until something is wrong, and says what, or "" if all is well.
func caught(program, seed string, variants []string) (string, error) {
	for _, variant := range variants {
		what, err := firstFault(program, seed, variant, []string{"registers", "control", "entry", "backtrace", "frames"})
		if what != "" || err != nil {
			return what, err
		}
	}
	result, err := ctest.Run("", program, variants[0], "returned", seed)
	if err != nil || result.Status != abort || !strings.Contains(result.Output, "body of a fiber returned") {
		return "returned: status " + strconv.Itoa(result.Status), err
	}
	return "", nil
}

// countCaught makes a program of each of the mutants of source, and reports how many of them the checks catch. In a source
// that is not the project's own there may be some that change nothing that matters, so there the count demands nothing.
func countCaught(t *testing.T, source string, link func(string) (string, error), variants []string, mutants []mutant) {
	seed := newSeed(t)
	reports := make([]string, len(mutants))
	errs := make([]error, len(mutants))
	var running sync.WaitGroup
	atOnce := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, m := range mutants {
		running.Add(1)
		atOnce <- struct{}{}
		go func() {
			defer running.Done()
			defer func() { <-atOnce }()
			program, err := link(m.text)
			if err != nil {
				reports[i] = "does not compile"
				return
			}
			reports[i], errs[i] = caught(program, seed, variants)
		}()
	}
	running.Wait()
	ours, count := recorded(t, source), 0
	for i, what := range reports {
		require.NoError(t, errs[i], mutants[i].fault)
		if what != "" {
			count++
			t.Logf("%s: %s", mutants[i].fault, what)
		} else if ours {
			t.Errorf("%s: no check catches %s", source, mutants[i].fault)
		} else {
			t.Logf("%s: no check catches %s", source, mutants[i].fault)
		}
	}
	if ours {
		t.Logf("mutants of %s: %d of %d caught, as recorded", source, count, len(mutants))
		return
	}
	text, err := os.ReadFile(source)
	require.NoError(t, err)
	t.Logf("mutants of %s: %d of %d caught; this source is not the recorded one, so that demands nothing; its fingerprint is %s",
		source, count, len(mutants), ctest.Fingerprint(string(text)))
}

func TestMutantsAreCaught(t *testing.T) {
	text, err := os.ReadFile(switchSource())
	require.NoError(t, err)
	link := compileProber(t, "-O2", framePointers).withSwitch
	countCaught(t, switchSource(), link, []string{"swap_fp", "swap"}, without(string(text), instruction, spare))
}

func TestMutantsOfInlineAreCaught(t *testing.T) {
	const source = "inline.h"
	text, err := os.ReadFile(source)
	require.NoError(t, err)
	header := string(text)
	// The part for arm64 follows on that for amd64.
	amd64, arm64, _ := strings.Cut(header, "#elif defined(__aarch64__)")
	mutants := without(header, inlineInstruction, spare)
	split := min(len(mutants), len(without(amd64, inlineInstruction, spare)))
	if runtime.GOARCH == "amd64" || arm64 == "" {
		mutants = mutants[:split]
	} else {
		mutants = mutants[split:]
	}
	link := compileProber(t, "-O2", framePointers).withInline
	countCaught(t, source, link, []string{"inline"}, mutants)
}
