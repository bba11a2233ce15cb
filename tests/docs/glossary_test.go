package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var inBackticks = regexp.MustCompile("`([^`]+)`")

// Each word of the glossary stands once, is explained, and is found where the glossary says: the file
// exists, and it has the name.
func TestGlossary(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "glossary.md"))
	require.NoError(t, err)
	words := map[string]bool{}
	for _, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| word |") || strings.HasPrefix(line, "| --- ") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		require.Len(t, cells, 4, line)
		word, meaning, where := strings.TrimSpace(cells[0]), strings.TrimSpace(cells[2]), cells[3]
		require.False(t, words[word], "%s stands twice", word)
		words[word] = true
		require.NotEmpty(t, meaning, word)

		sources := ""
		for _, match := range inBackticks.FindAllStringSubmatch(where, -1) {
			if strings.Contains(match[1], "/") {
				sources += contents(t, word, match[1])
				continue
			}
			assert.Regexp(
				t, `\b`+regexp.QuoteMeta(match[1])+`\b`, sources, "%s: %s does not have %s", word, where, match[1],
			)
		}
		require.NotEmpty(t, sources, "%s: where?", word)
	}
	require.Greater(t, len(words), 60)
}

// contents returns the text of a file, or of all files of a folder.
func contents(t *testing.T, word, path string) string {
	t.Helper()
	info, err := os.Stat(filepath.Join(root, path))
	require.NoError(t, err, word)
	if !info.IsDir() {
		text, err := os.ReadFile(filepath.Join(root, path))
		require.NoError(t, err, word)
		return string(text)
	}
	var all strings.Builder
	files, err := fs.ReadDir(os.DirFS(filepath.Join(root, path)), ".")
	require.NoError(t, err, word)
	for _, file := range files {
		if !file.IsDir() {
			all.WriteString(contents(t, word, filepath.Join(path, file.Name())))
		}
	}
	return all.String()
}
