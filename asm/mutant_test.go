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

// Every instruction of the switch and of the trampoline is there because something breaks without it. The landing pads
// are the exception: only a processor that checks branch targets notices them.
var (
	instruction = regexp.MustCompile(`^ +([a-z]\w*|RESUME|\.cfi_undefined)\b`)
	landingPad  = regexp.MustCompile(`^ +(endbr64|BTI_C)\b`)
	comment     = regexp.MustCompile(`(?s)/\*.*?\*/`)
)

// mutantCount is how many lines there are to delete. Who adds one to the assembly counts again.
var mutantCount = map[string]int{"amd64": 35, "arm64": 36}

// mutants returns the numbers, from 0, of the lines to delete.
func mutants(assembly string) []int {
	blank := func(text string) string { return strings.Repeat("\n", strings.Count(text, "\n")) }
	var numbers []int
	for i, line := range strings.Split(comment.ReplaceAllStringFunc(assembly, blank), "\n") {
		if instruction.MatchString(line) && !landingPad.MatchString(line) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// caught runs the prober until something is wrong, and says what, or "" if all is well.
func caught(program, seed string) (string, error) {
	for _, variant := range []string{"swap_fp", "swap"} {
		for _, check := range []string{"registers", "control", "entry", "backtrace", "frames"} {
			if check == "control" && !keepsControl[variant] {
				continue
			}
			result, err := ctest.Run("", program, variant, check, seed)
			if err != nil {
				return "", err
			}
			if result.Hung {
				return variant + " " + check + ": hung", nil
			}
			if !result.Passed() {
				return variant + " " + check + ": status " + strconv.Itoa(result.Status) + " " + result.Output, nil
			}
		}
	}
	result, err := ctest.Run("", program, "swap_fp", "returned", seed)
	if err != nil || result.Status != abort || !strings.Contains(result.Output, "body of a fiber returned") {
		return "returned: status " + strconv.Itoa(result.Status), err
	}
	return "", nil
}

func TestMutantsAreCaught(t *testing.T) {
	text, err := os.ReadFile(switchSource())
	require.NoError(t, err)
	assembly := string(text)
	lines := strings.Split(assembly, "\n")
	numbers := mutants(assembly)
	require.Len(t, numbers, mutantCount[runtime.GOARCH])

	seed := newSeed(t)
	link := compileProber(t, "-O2", framePointers)
	program, err := link(assembly)
	require.NoError(t, err)
	what, err := caught(program, seed)
	require.NoError(t, err)
	require.Empty(t, what, "the switch itself is faulty")

	type report struct {
		what string
		err  error
	}
	reports := make([]report, len(numbers))
	var running sync.WaitGroup
	atOnce := make(chan struct{}, 2)
	for i, number := range numbers {
		running.Add(1)
		atOnce <- struct{}{}
		go func() {
			defer running.Done()
			defer func() { <-atOnce }()
			mutant := append(append([]string{}, lines[:number]...), lines[number+1:]...)
			program, err := link(strings.Join(mutant, "\n"))
			if err != nil {
				reports[i].err = err
				return
			}
			reports[i].what, reports[i].err = caught(program, seed)
		}()
	}
	running.Wait()
	for i, report := range reports {
		line := strings.TrimSpace(lines[numbers[i]])
		require.NoError(t, report.err, "line %d: %s", numbers[i]+1, line)
		require.NotEmpty(t, report.what, "line %d can go without anybody noticing: %s", numbers[i]+1, line)
		t.Logf("without line %d, %s: %s", numbers[i]+1, line, strings.TrimSpace(report.what))
	}
}
