package asm

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/asm/ctest"
	"fiberlab/labs/machine"
	"fiberlab/labs/mutate"
)

// caught runs the prober until something is wrong, and says what, or "" if all is well.
func caught(program, seed string, variants []string) (string, error) {
	for _, variant := range variants {
		what, err := firstFault(
			program, seed, variant, []string{"registers", "control", "entry", "backtrace", "frames"},
		)
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

// countCaught makes a program of each of the mutants of source, and reports how many of them the checks catch. These
// must be all but the ones that testdata/equivalents.txt lists as right. In a source that is not the project's own
// there may be others, so there the count demands nothing.
func countCaught(
	t *testing.T, source string, link func(string) (string, error), variants []string, mutants []mutate.Mutant,
) {
	equivalents, err := mutate.ReadEquivalents("testdata/equivalents.txt")
	require.NoError(t, err)
	seed := newSeed(t)
	reports := make([]string, len(mutants))
	errs := make([]error, len(mutants))
	var running sync.WaitGroup
	atOnce := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, m := range mutants {
		if i%every() != 0 {
			continue
		}
		running.Add(1)
		atOnce <- struct{}{}
		go func() {
			defer running.Done()
			defer func() { <-atOnce }()
			program, err := link(m.Text)
			if err != nil {
				reports[i] = "does not compile"
				return
			}
			reports[i], errs[i] = caught(program, seed, variants)
			errs[i] = errors.Join(errs[i], os.RemoveAll(filepath.Dir(program)))
		}()
	}
	running.Wait()
	ours, count, demanded, same := recorded(t, source), 0, 0, 0
	for i, what := range reports {
		require.NoError(t, errs[i], mutants[i].Name())
		reason := equivalents.Reason(runtime.GOARCH, mutants[i])
		if i%every() != 0 {
			continue
		}
		if reason != "" {
			same++
		} else {
			demanded++
		}
		switch {
		case what != "" && reason == "":
			count++
			t.Logf("%s: %s", mutants[i].Name(), what)
		case what != "" && ours:
			t.Errorf("%s is caught, but should be as right (%s): %s", mutants[i].Name(), reason, what)
		case what == "" && reason == "" && ours:
			t.Errorf("%s: no check catches %s", source, mutants[i].Name())
		case what == "" && reason == "":
			t.Logf("%s: no check catches %s", source, mutants[i].Name())
		}
	}
	if ours {
		for _, name := range equivalents.Unknown(runtime.GOARCH, source) {
			t.Errorf("there is no such mutant: %s", name)
		}
		t.Logf("mutants of %s: %d of %d caught, as recorded; %d others are as right", source, count, demanded, same)
		return
	}
	text, err := os.ReadFile(source)
	require.NoError(t, err)
	t.Logf(
		"mutants of %s: %d of %d caught; this source is not the recorded one, so that demands nothing; its "+
			"fingerprint is %s",
		source, count, len(mutants), ctest.Fingerprint(string(text)),
	)
}

// every is how many mutants there are to each that is tried.
func every() int {
	switch {
	case ctest.Emulated():
		return 10
	case testing.Short() || raceDetector: // which only sees Go; nor do mutants ask for the Go release or the kernel
		return 25
	}
	return 1
}

func TestMutantsAreCaught(t *testing.T) {
	text, err := os.ReadFile(switchSource())
	require.NoError(t, err)
	link := compileProber(t, "-O2", framePointers).withSwitch
	mutants := mutate.Assembly(machine.Native(), switchSource(), string(text))
	countCaught(t, switchSource(), link, []string{"swap_fp", "swap"}, mutants)
}

func TestMutantsOfInlineAreCaught(t *testing.T) {
	const source = "inline.h"
	text, err := os.ReadFile(source)
	require.NoError(t, err)
	// The part for arm64 follows on that for amd64. The text of the other part stays as it is.
	amd64, arm64, _ := strings.Cut(string(text), betweenArches)
	var mutants []mutate.Mutant
	if runtime.GOARCH == "amd64" || arm64 == "" {
		mutants = mutate.Inline(machine.AMD64, source, amd64)
		for i := range mutants {
			mutants[i].Text += betweenArches + arm64
		}
	} else {
		mutants = mutate.Inline(machine.ARM64, source, arm64)
		for i := range mutants {
			mutants[i].Text = amd64 + betweenArches + mutants[i].Text
		}
	}
	link := compileProber(t, "-O2", framePointers).withInline
	countCaught(t, source, link, []string{"inline"}, mutants)
}

const betweenArches = "#elif defined(__aarch64__)"
