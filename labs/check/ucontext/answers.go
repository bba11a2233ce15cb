package ucontext

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"fiberlab/labs/check/swap"
	"fiberlab/labs/grade"
)

// What the harness defines.
const (
	sizeName    = "lab_ucontext_size"
	prepareName = "lab_makecontext"
	libraryName = "lab_library_swapcontext"
)

// answersFile holds what a student has counted.
const answersFile = "answers.txt"

// answers holds what was counted against what the C library does in this run.
func answers(ctx context.Context, b *grade.Bench) ([]grade.Fault, error) {
	calls, steps, err := count(ctx, b)
	if err != nil {
		return nil, err
	}
	b.Measure("swapcontext of the C library", float64(steps), "instructions")
	want := map[string]string{
		"calls there and back, " + b.Program.Arch.Name: strconv.Itoa(2 * calls),
		"name of the call": "rt_sigprocmask",
	}
	given, err := read(filepath.Join(b.Dir, answersFile))
	if err != nil {
		return []grade.Fault{{Text: err.Error()}}, nil
	}
	remedies := map[string]string{
		"calls there and back, " + b.Program.Arch.Name: "count again",
		"name of the call": "write it as the kernel's list of system calls does",
	}
	var faults []grade.Fault
	for _, question := range []string{"calls there and back, " + b.Program.Arch.Name, "name of the call"} {
		switch answer := given[question]; {
		case answer == "" || answer == "?":
			faults = append(faults, grade.Fault{Text: fmt.Sprintf("%s: %q has no answer", answersFile, question)})
		case !strings.EqualFold(answer, want[question]):
			faults = append(faults, grade.Fault{
				Text: fmt.Sprintf(
					"%s: %q: %s is not what the C library does here: %s", answersFile, question, answer,
					remedies[question],
				),
			})
		}
	}
	if len(faults) == 0 { // before that, it would be the answer
		b.Measure("swapcontext of the C library", float64(calls), "system calls")
	}
	return faults, nil
}

// read returns the answers by their questions: lines of the form QUESTION: ANSWER.
// A line that begins with # is a comment.
func read(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no %s", filepath.Base(path))
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	given := map[string]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		// some editors write this mark at the start
		line := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if question, answer, found := strings.Cut(line, ":"); found && !strings.HasPrefix(line, "#") {
			given[strings.TrimSpace(question)] = strings.TrimSpace(answer)
		}
	}
	return given, lines.Err()
}

// count steps through one swap of the C library and returns its system calls and instructions.
func count(ctx context.Context, b *grade.Bench) (calls, steps int, err error) {
	library := swap.Subject{
		Swap: libraryName, Size: sizeName, Prepare: prepareName, Arguments: len(b.Program.Arch.Arguments),
	}
	recordings, err := library.Show(ctx, b)
	if err != nil {
		return 0, 0, err
	}
	if len(recordings) < 3 {
		return 0, 0, errors.New("the C library's swapcontext did not come back: this is a fault of the harness")
	}
	for _, step := range recordings[1].Steps {
		if step.System {
			calls++
		}
	}
	return calls, len(recordings[1].Steps), nil
}
