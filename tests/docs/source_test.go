package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listed is a package in the first column of a table of docs/source.md: a row may have several.
var (
	listed = regexp.MustCompile("\\[`([^`]+)`\\]\\(\\.\\./([^)]+)\\)")
	row    = regexp.MustCompile("(?m)^\\| (\\[`[^|]+) \\|[^|]+\\|[^|]*\\|$")
)

// The map of the source has each package once, below all that it imports. Its drawing has no arrow that is no import.
func TestSourceMap(t *testing.T) {
	imports := imported(t)
	text, err := os.ReadFile(filepath.Join(root, "docs", "source.md"))
	require.NoError(t, err)

	above := map[string]bool{}
	for _, line := range row.FindAllStringSubmatch(string(text), -1) {
		for _, match := range listed.FindAllStringSubmatch(line[1], -1) {
			name := match[1]
			assert.Equal(t, name, match[2], "the link")
			assert.False(t, above[name], "%s stands twice", name)
			above[name] = true
			real, is := imports[name]
			assert.True(t, is, "there is no package %s", name)
			for _, other := range real {
				assert.True(t, above[other], "%s imports %s, which does not stand above it", name, other)
			}
		}
	}
	for name := range imports {
		assert.True(t, above[name], "%s is missing", name)
	}

	arrows := 0
	first := "" // the first line of a drawing
	for _, line := range strings.Split(string(text), "\n") {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if indent < 4 || !strings.Contains(line, "-->") {
			continue
		}
		from := ""
		if indent == 4 {
			first = line
		} else {
			from = leftOf(first, indent)
		}
		for _, name := range strings.Split(line, "-->") {
			to := strings.TrimSpace(name)
			if from != "" {
				arrows++
				assert.Contains(t, imports[from], to, "the drawing: %s --> %s", from, to)
			}
			from = to
		}
	}
	require.Greater(t, arrows, 15)
}

// leftOf returns the package that stands before that column of a drawing's first line: a line that begins there has its
// arrow from it.
func leftOf(line string, column int) string {
	words := strings.Fields(strings.ReplaceAll(line[:min(column, len(line))], "-->", " "))
	return words[len(words)-1]
}

// imported returns the packages of the project, and what each imports of them.
func imported(t *testing.T) map[string][]string {
	t.Helper()
	list := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...")
	list.Dir, list.Env = root, append(os.Environ(), "CGO_ENABLED=1")
	printed, err := list.Output()
	require.NoError(t, err)
	all := map[string][]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(printed)), "\n") {
		fields := strings.Fields(line)
		var names []string
		for _, path := range fields[1:] {
			if name, ours := strings.CutPrefix(path, "fiberlab/"); ours &&
				!slices.Contains([]string{"internal/platform", "internal/platform/system"}, name) {
				names = append(names, name)
			}
		}
		all[strings.TrimPrefix(fields[0], "fiberlab/")] = names
	}
	return all
}
