package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// placed is a file in backticks with names that it has: `stack/pool.go`: `Get` and `Put`.
var placed = regexp.MustCompile("`([a-z_]+/[\\w./]+)`: (`[^`]+`(?:(?:, | and )`[^`]+`)*)")

// What a document places in a file is there.
func TestPlacedNames(t *testing.T) {
	names := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, match := range placed.FindAllStringSubmatch(strings.ReplaceAll(string(text), "\n", " "), -1) {
			source := contents(t, page, match[1])
			for _, name := range inBackticks.FindAllStringSubmatch(match[2], -1) {
				assert.Regexp(
					t, `\b`+regexp.QuoteMeta(name[1])+`\b`, source, "%s: %s does not have %s", filepath.Base(page),
					match[1], name[1],
				)
				names++
			}
		}
	}
	require.Greater(t, names, 70)
}

// tested is a test or a benchmark in backticks.
var tested = regexp.MustCompile("`((?:Test|Benchmark)[A-Z]\\w*)`")

// A test that a document names is there.
func TestNamedTests(t *testing.T) {
	there := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w+)\(`)
	for _, file := range files(t) {
		if strings.HasSuffix(file, "_test.go") {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, match := range function.FindAllSubmatch(text, -1) {
				there[string(match[1])] = true
			}
		}
	}
	names := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, match := range tested.FindAllSubmatch(text, -1) {
			assert.True(t, there[string(match[1])], "%s names %s", page, match[1])
			names++
		}
	}
	require.Greater(t, names, 30)
}

// The faults of the document on coroutines that are marked in docs/documents.md have a test each.
func TestMarkedFaults(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "documents.md"))
	require.NoError(t, err)
	var tests []byte
	for _, dir := range []string{"", "dispatch"} {
		of, err := os.ReadFile(filepath.Join(root, "sched", "uring", dir, "faults_test.go"))
		require.NoError(t, err)
		tests = append(tests, of...)
	}
	marked := regexp.MustCompile(`(?m)^\| \* `).FindAll(page, -1)
	assert.Len(t, marked, len(regexp.MustCompile(`(?m)^func TestFault`).FindAll(tests, -1)))
}
