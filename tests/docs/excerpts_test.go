package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// excerpt is a block that says from which source it is: a line that ends in "From `asm/swap_amd64.S`:", and the block.
var excerpt = regexp.MustCompile("From `([^`]+)`:\n\n((?: {4}.*\n|\n)+)")

// What a document quotes is in the source, whitespace apart. A line of three dots stands for lines that are left out.
func TestExcerpts(t *testing.T) {
	excerpts := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		require.Len(
			t, regexp.MustCompile("From `[^`]+`:").FindAllIndex(text, -1), len(excerpt.FindAllIndex(text, -1)),
			"%s: an excerpt has no block", page,
		)
		for _, match := range excerpt.FindAllSubmatch(text, -1) {
			excerpts++
			source, err := os.ReadFile(filepath.Join(root, string(match[1])))
			require.NoError(t, err, page)
			assert.Empty(
				t, unfound(string(match[2]), string(source)), "%s: %s does not have this, or not here", page, match[1],
			)
		}
	}
	require.Greater(t, excerpts, 4)
}

// unfound returns the first part of block that source does not have after those before it, or "".
func unfound(block, source string) string {
	rest := squeeze(source)
	for _, part := range regexp.MustCompile(`(?m)^\s*\.\.\.\s*$`).Split(block, -1) {
		_, after, found := strings.Cut(rest, squeeze(part))
		if !found {
			return part
		}
		rest = "\n" + after
	}
	return ""
}

// squeeze makes all that is not printed one blank, and a line's end one line's end.
func squeeze(text string) string {
	var all strings.Builder
	all.WriteString("\n")
	for _, line := range strings.Split(text, "\n") {
		if words := strings.Fields(line); len(words) > 0 {
			all.WriteString(strings.Join(words, " ") + "\n")
		}
	}
	return all.String()
}

// figure is a row of a table with a mechanism in backticks, a median and a ratio.
var figure = regexp.MustCompile("(?m)^\\| `([\\w-]+)`[^|]*\\| ([\\d.,]+) \\|(?:[^|]*\\|)? ([\\d.,]+) \\|$")

// docs/switch.md and README.md give the same figures.
func TestFigures(t *testing.T) {
	of := func(page string) map[string]string {
		text, err := os.ReadFile(filepath.Join(root, page))
		require.NoError(t, err)
		rows := map[string]string{}
		for _, match := range figure.FindAllStringSubmatch(string(text), -1) {
			rows[match[1]] = match[2] + " ns, " + match[3]
		}
		return rows
	}
	here, readme := of("docs/switch.md"), of("README.md")
	require.NotEmpty(t, here)
	for mechanism, says := range here {
		assert.Equal(t, readme[mechanism], says, mechanism)
	}
}

// The lines of a swap that README.md quotes a report about save and load r12 in the reference.
func TestQuotedReport(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "labs", "02", "reference", "swap.S"))
	require.NoError(t, err)
	lines := strings.Split(string(text), "\n")
	report := regexp.MustCompile(`saved at offset 16 \(swap\.S:(\d+)\), loaded from 24 \(swap\.S:(\d+)\)`).
		FindStringSubmatch(readme(t, "### You are a student\n"))
	require.NotNil(t, report)
	for i, instruction := range []string{"movq %r12, REG_R12(%rdi)", "movq REG_R12(%rsi), %r12"} {
		number, err := strconv.Atoi(report[i+1])
		require.NoError(t, err)
		assert.Equal(t, instruction, strings.Join(strings.Fields(lines[number-1]), " "), "swap.S:%d", number)
	}
}
