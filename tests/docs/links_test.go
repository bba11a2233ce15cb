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

// pages lists the documents.
func pages(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, list)
	return append(list, filepath.Join(root, "README.md"))
}

var (
	indented = regexp.MustCompile(`(?m)^ {4}.*$`) // programs and drawings
	link     = regexp.MustCompile(`\]\(([^)#\s]+)[^)]*\)`)
	// path is a file or folder of the project in backticks: with a slash, and perhaps with wildcards.
	path = regexp.MustCompile("`([a-z_]+/[\\w./*-]*\\.(?:go|c|h|S|cc|s|md)|(?:sched|fiber|internal|tests|docs|asm|stack|bench|cmd)/[\\w/]*)`")
)

// What the documents link to, and what they name by a path, exists.
func TestLinksAndPaths(t *testing.T) {
	links, paths := 0, 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		prose := indented.ReplaceAll(text, nil)
		for _, match := range link.FindAllSubmatch(prose, -1) {
			target := string(match[1])
			if strings.Contains(target, "://") {
				continue
			}
			links++
			_, err := os.Stat(filepath.Join(filepath.Dir(page), target))
			assert.NoError(t, err, "%s links to %s", page, target)
		}
		for _, match := range path.FindAllSubmatch(text, -1) {
			paths++
			found, err := filepath.Glob(filepath.Join(root, string(match[1])))
			require.NoError(t, err)
			assert.NotEmpty(t, found, "%s names %s", page, match[1])
		}
	}
	require.Greater(t, links, 20)
	require.Greater(t, paths, 20)
}
