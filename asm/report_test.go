package asm

import (
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// storeOrLoad are the lines whose order among their like does not matter.
var storeOrLoad = map[string][]*regexp.Regexp{
	"amd64": {
		regexp.MustCompile(`^ +movq +%\w+, MARL_REG_\w+\(%rdi\)$`),
		regexp.MustCompile(`^ +movq +MARL_REG_\w+\(%rsi\), %r(ax|bx|bp|dx|1\d)$`),
	},
	"arm64": {
		regexp.MustCompile(`^ +stp? +.*\[x0, #MARL_REG_\w+\]$`),
		regexp.MustCompile(`^ +ldp? +.*\[x1, #MARL_REG_\w+\]$`),
	},
}

// reordered turns each run of lines that match what around.
func reordered(text string, what *regexp.Regexp) string {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		from := i
		for i < len(lines) && what.MatchString(lines[i]) {
			i++
		}
		slices.Reverse(lines[from:i])
	}
	return strings.Join(lines, "\n")
}

// ownSource is the project's own assembly; of another source these tests do not know what to change in it.
func ownSource(t *testing.T) string {
	text, err := os.ReadFile(switchSource())
	require.NoError(t, err)
	if !recorded(t, switchSource()) {
		t.Skip("this source is not the recorded one")
	}
	return string(text)
}

// A switch that saves and loads in another order is as right.
func TestReorderedSwitchIsRight(t *testing.T) {
	text := ownSource(t)
	link := compileProber(t, "-O2", framePointers).withSwitch
	for _, what := range storeOrLoad[runtime.GOARCH] {
		other := reordered(text, what)
		require.False(t, other == text, "nothing was reordered")
		program, err := link(other)
		require.NoError(t, err)
		require.Empty(t, report(program))
	}
}

// What is said of a switch that forgets a register is short, and names it.
func TestReportOfAWrongSwitch(t *testing.T) {
	text := ownSource(t)
	register := map[string]string{"amd64": "rbx", "arm64": "x19"}[runtime.GOARCH]
	load := storeOrLoad[runtime.GOARCH][1].FindString
	faulty := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return strings.Contains(load(line), register)
	})
	program, err := compileProber(t, "-O2", framePointers).withSwitch(strings.Join(faulty, "\n"))
	require.NoError(t, err)
	said := report(program)
	require.Regexp(t, "\n  swap: register "+register+" of fiber 0: want 0x[0-9a-f]+, got 0x[0-9a-f]+\n", said)
	require.LessOrEqual(t, strings.Count(said, "\n"), 6)
	require.Less(t, len(said), 1000)
}
