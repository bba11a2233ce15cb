package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// events are lines of `go test -json`, from lines of package, test, action and output.
func events(lines ...string) string {
	var all bytes.Buffer
	for _, line := range lines {
		part := strings.SplitN(line, " ", 4)
		e := event{Package: part[0], Test: strings.Trim(part[1], "-"), Action: part[2]}
		if len(part) > 3 {
			e.Output = part[3] + "\n"
		}
		if err := json.NewEncoder(&all).Encode(e); err != nil {
			panic(err)
		}
	}
	return all.String()
}

// What passes is counted, and what is skipped with its reason; of both only the packages' results are shown.
func TestPassedAndLeftOut(t *testing.T) {
	tally := Tally{LeftOut: map[string]int{}}
	var shown bytes.Buffer
	tally.read(strings.NewReader(events(
		"m/a TestA output === RUN   TestA",
		"m/b TestB output === RUN   TestB",
		"m/a TestA output     a_test.go:1: not shown",
		"m/a TestA/part output     a_test.go:2: before",
		"m/a TestA/part output     a_test.go:3: there is no x",
		"m/a TestA/part output --- SKIP: TestA/part (0.00s)",
		"m/a TestA/part skip",
		"m/a TestA/other pass",
		"m/a TestA pass",
		"m/b TestB output     b_test.go:1: there is no x",
		"m/b TestB skip",
		"m/b TestC output     b_test.go:2: there is no y: install it",
		"m/b TestC skip",
		"m/a - output PASS",
		"m/a - output ok  \tm/a\t1.2s",
		"m/a - pass",
		"m/b - output ok  \tm/b\t1.3s",
		"m/b - pass",
		"m/c - output ?   \tm/c\t[no test files]",
		"m/c - skip",
	)), &shown, false)
	require.Equal(t, "ok  \tm/a\t1.2s\nok  \tm/b\t1.3s\n?   \tm/c\t[no test files]\n", shown.String())
	require.Equal(
		t, Tally{Passed: 1, LeftOut: map[string]int{"there is no x": 2, "there is no y: install it": 1}}, tally,
	)
	require.Equal(
		t, "fiberlab: 1 tests passed, none failed; left out, whole or in part: 3, of which 2: there is no x",
		tally.String(),
	)
}

// Of what fails all is shown, and it is named at the end: tests, and packages that cannot be built or end early.
func TestFailed(t *testing.T) {
	tally := Tally{LeftOut: map[string]int{}}
	var shown bytes.Buffer
	tally.read(strings.NewReader(events(
		"m/a TestA output === RUN   TestA",
		"m/a TestA/sub output     a_test.go:3: wrong",
		"m/a TestA/sub output --- FAIL: TestA/sub (0.00s)",
		"m/a TestA/sub fail",
		"m/a TestA output --- FAIL: TestA (0.00s)",
		"m/a TestA fail",
		"m/a TestB output     a_test.go:9: not shown",
		"m/a TestB pass",
		"m/a - output FAIL",
		"m/a - output FAIL\tm/a\t1.2s",
		"m/a - fail",
		"m/b - build-output b.go:1: undefined: x",
		"m/b - output FAIL\tm/b [build failed]",
		"m/b - fail",
		"m/c TestC output panic: at the end",
		"m/c - output FAIL\tm/c\t0.1s",
		"m/c - fail",
	)+"FAIL\n"), &shown, false)
	require.Equal(t, `--- FAIL: TestA (0.00s)
    a_test.go:3: wrong
--- FAIL: TestA/sub (0.00s)
FAIL
FAIL	m/a	1.2s
b.go:1: undefined: x
FAIL	m/b [build failed]
panic: at the end
FAIL	m/c	0.1s
FAIL
`, shown.String())
	require.Equal(t, "fiberlab: 1 tests passed, 3 failed (TestA of m/a, m/b, m/c), none was left out", tally.String())
}

// With -v all is shown at once, and what is skipped is counted with its reason, too.
func TestVerbose(t *testing.T) {
	tally := Tally{LeftOut: map[string]int{}}
	var shown bytes.Buffer
	tally.read(strings.NewReader(events(
		"m/a TestA output === RUN   TestA",
		"m/a TestA output     a_test.go:3: there is no x",
		"m/a TestA output --- SKIP: TestA (0.00s)",
		"m/a TestA skip",
		"m/a TestB output --- FAIL: TestB (0.00s)",
		"m/a TestB fail",
		"m/a - output FAIL\tm/a\t1.2s",
		"m/a - fail",
	)), &shown, true)
	require.Equal(t, `=== RUN   TestA
    a_test.go:3: there is no x
--- SKIP: TestA (0.00s)
--- FAIL: TestB (0.00s)
FAIL	m/a	1.2s
`, shown.String())
	require.Equal(t, Tally{Failed: []string{"TestB of m/a"}, LeftOut: map[string]int{"there is no x": 1}}, tally)
}

// An interrupt ends go test also before it runs tests: the command that is started does not ignore it.
func TestInterruptIsNotIgnored(t *testing.T) {
	bin := t.TempDir()
	script := "#!/bin/sh\nkill -s INT $$\necho 'not a test: not ended'\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o700))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Chdir(t.TempDir())
	var exit *exec.ExitError
	require.ErrorAs(t, run(nil), &exit)
	require.Equal(t, "signal: interrupt", exit.Error())
}

// The closing line is the sum of all runs; there is none if no run was counted.
func TestClosing(t *testing.T) {
	t.Chdir(t.TempDir())
	var said bytes.Buffer
	require.NoError(t, closing(&said))
	require.Empty(t, said.String())
	require.NoError(t, os.Mkdir(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(
		file, []byte(`{"Passed":2,"LeftOut":{"there is no x":1}} {"Passed":3,"LeftOut":{"there is no x":4}}`), 0o600,
	))
	require.NoError(t, closing(&said))
	require.Equal(
		t,
		"Left out:\n    5  there is no x\nfiberlab: 5 tests passed, none failed; left out, whole or in part: 5: "+
			"there is no x\n",
		said.String(),
	)
}
