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

// The same of the inline switch. Without its jump, execution goes on to the one to marl_fiber_resume_all, which is slower
// but resumes whatever there is; without testb, the flags say by chance which way it goes.
var (
	inlineInstruction = regexp.MustCompile(`^ +("[a-z].*\\n|MARL_RESUME ")`)
	inlineShortcut    = regexp.MustCompile(`"notrack jmp \*%c\[rip\]|"testb |MARL_RESUME "`)
)

// How many lines there are to delete. Who adds one counts again.
var (
	mutantCount       = map[string]int{"amd64": 38, "arm64": 36}
	inlineMutantCount = map[string]int{"amd64": 9, "arm64": 9} // in this order in inline.h
)

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

// with returns a mutant that has after in the place of before, which must be there once.
func with(t *testing.T, text, before, after string) mutant {
	require.Equal(t, 1, strings.Count(text, before), before)
	return mutant{after + " for " + before, strings.Replace(text, before, after, 1)}
}

// caught runs the prober until something is wrong, and says what, or "" if all is well.
func caught(program, seed string, variants []string) (string, error) {
	for _, variant := range variants {
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
	result, err := ctest.Run("", program, variants[0], "returned", seed)
	if err != nil || result.Status != abort || !strings.Contains(result.Output, "body of a fiber returned") {
		return "returned: status " + strconv.Itoa(result.Status), err
	}
	return "", nil
}

// requireCaught fails unless variants are right as text has them, and somebody notices each of the mutants.
func requireCaught(t *testing.T, link func(string) (string, error), variants []string, text string, mutants []mutant) {
	seed := newSeed(t)
	try := func(text string) (string, error) {
		program, err := link(text)
		if err != nil {
			return "", err
		}
		return caught(program, seed, variants)
	}
	what, err := try(text)
	require.NoError(t, err)
	require.Empty(t, what, "the switch itself is faulty")

	type report struct {
		what string
		err  error
	}
	reports := make([]report, len(mutants))
	var running sync.WaitGroup
	atOnce := make(chan struct{}, 2)
	for i, m := range mutants {
		running.Add(1)
		atOnce <- struct{}{}
		go func() {
			defer running.Done()
			defer func() { <-atOnce }()
			reports[i].what, reports[i].err = try(m.text)
		}()
	}
	running.Wait()
	for i, report := range reports {
		require.NoError(t, report.err, mutants[i].fault)
		require.NotEmpty(t, report.what, "nobody notices: %s", mutants[i].fault)
		t.Logf("%s: %s", mutants[i].fault, strings.TrimSpace(report.what))
	}
}

func TestMutantsAreCaught(t *testing.T) {
	text, err := os.ReadFile(switchSource())
	require.NoError(t, err)
	assembly := string(text)
	mutants := without(assembly, instruction, landingPad)
	require.Len(t, mutants, mutantCount[runtime.GOARCH])
	unmarked := map[string][2]string{
		"amd64": {"MARL_ALL_SAVED(%rsp)", "0(%rsp)"},
		"arm64": {"#MARL_ALL_SAVED", "#0"},
	}[runtime.GOARCH]
	mutants = append(mutants, with(t, assembly, unmarked[0], unmarked[1]),
		with(t, assembly, "~MARL_ALL_SAVED", "~(MARL_ALL_SAVED << 1)"))
	link := compileProber(t, "-O2", framePointers).withSwitch
	requireCaught(t, link, []string{"swap_fp", "swap", "mixed"}, assembly, mutants)
}

func TestMutantsOfInlineAreCaught(t *testing.T) {
	text, err := os.ReadFile("inline.h")
	require.NoError(t, err)
	header := string(text)
	mutants := without(header, inlineInstruction, inlineShortcut)
	amd64 := inlineMutantCount["amd64"]
	require.Len(t, mutants, amd64+inlineMutantCount["arm64"])
	if runtime.GOARCH == "amd64" {
		mutants = mutants[:amd64]
	} else {
		mutants = mutants[amd64:]
	}
	const mark, another = "(MARL_ALL_SAVED)", "(MARL_ALL_SAVED << 1)"
	mutants = append(mutants, mutant{another, strings.ReplaceAll(header, mark, another)})
	link := compileProber(t, "-O2", framePointers).withInline
	requireCaught(t, link, []string{"inline", "mixed"}, header, mutants)
}
