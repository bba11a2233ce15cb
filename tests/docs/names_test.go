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
				assert.Regexp(t, `\b`+regexp.QuoteMeta(name[1])+`\b`, source, "%s: %s does not have %s", filepath.Base(page), match[1], name[1])
				names++
			}
		}
	}
	require.Greater(t, names, 70)
}
