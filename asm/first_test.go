package asm

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"fiberlab/asm/ctest"
)

// With a switch that is wrong all other tests fail too, and say less. So it is checked first, and nothing else then.
func TestMain(m *testing.M) {
	if report := checkFirst(); report != "" {
		fmt.Println(report)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// checkFirst runs the checks of the switch once, and says what is wrong, or "".
func checkFirst() string {
	dir, err := os.MkdirTemp("", "fiberlab")
	if err != nil {
		return err.Error()
	}
	defer os.RemoveAll(dir)
	program, err := compileAll(dir, "-O2", framePointers)
	if err != nil {
		return "The switch does not compile:\n" + firstLines(err.Error(), 12)
	}
	return report(program)
}

// report says what is wrong with the switch of a prober, in a line for each variant, or "".
func report(program string) string {
	seed := strconv.FormatUint(rand.Uint64(), 10)
	var wrong []string
	for _, variant := range variants {
		what, err := firstFault(program, seed, variant, checks)
		if err != nil {
			return err.Error()
		}
		if what != "" {
			wrong = append(wrong, what)
		}
		if strings.HasSuffix(what, endless) {
			break // the others take as long
		}
	}
	if len(wrong) == 0 {
		return ""
	}
	return fmt.Sprintf(
		"The switch is wrong (asm/%s, asm/inline.h):\n  %s\nNo other test was run. `make test-switch` repeats this; "+
			"the seed was %s.",
		switchSource(), strings.Join(wrong, "\n  "), seed,
	)
}

// firstFault is what the first of the checks says that finds variant wrong, in one line, or "" if all is well.
func firstFault(program, seed, variant string, checks []string) (string, error) {
	for _, check := range checks {
		if !keepsControl[variant] && (check == "control" || check == "rounding") {
			continue
		}
		result, err := ctest.Run("", program, variant, check, seed)
		if err != nil {
			return "", err
		}
		if !result.Passed() {
			return inOneLine(variant, check, result), nil
		}
	}
	return "", nil
}

// endless is said of a check that was stopped because it took too long.
const endless = "does not come to an end"

// inOneLine says how a check ended that did not pass.
func inOneLine(variant, check string, result ctest.Result) string {
	said := firstLines(result.Output, 1)
	switch {
	case result.Hung, result.Status == 128+int(syscall.SIGXCPU), result.Status == 128+int(syscall.SIGKILL):
		return fmt.Sprintf("%s: the check of %s %s", variant, check, endless)
	case strings.HasPrefix(said, variant+": "):
		return said
	case result.Status > 128:
		return strings.TrimSpace(fmt.Sprintf(
			"%s: the check of %s ended by a signal: %v %s", variant, check, syscall.Signal(result.Status-128), said,
		))
	}
	return fmt.Sprintf("%s: the check of %s ended with status %d: %s", variant, check, result.Status, said)
}

// firstLines cuts text off after n lines, and lines that are too long to be read.
func firstLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > n {
		lines = lines[:n]
	}
	for i, line := range lines {
		if len(line) > 300 {
			lines[i] = line[:300] + "..."
		}
	}
	return strings.Join(lines, "\n")
}
