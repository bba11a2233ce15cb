// Package docs holds the tests of README.md, the pages in docs and the handouts:
// their links, names, programs and widths.
package docs

import (
	"bytes"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the project's folder.
const root = "../.."

// longestHello is how many lines the first program that a reader meets may have, blank ones apart.
const longestHello = 15

// README's hello program is short, formatted, and prints what README says.
func TestHello(t *testing.T) {
	section := readme(t, "### You write Go programs\n")
	source := blockAfter(t, section, "Write `hello.go`:")
	output := blockAfter(t, section, "It prints:")
	require.LessOrEqual(
		t, strings.Count(strings.ReplaceAll(source, "\n\n", "\n"), "\n"), longestHello, "lines:\n%s", source,
	)

	source = strings.ReplaceAll(source, "    ", "\t")
	formatted, err := format.Source([]byte(source))
	require.NoError(t, err, source)
	require.Equal(t, string(formatted), source, "as gofmt has it")

	dir := t.TempDir()
	file, program := filepath.Join(dir, "hello.go"), filepath.Join(dir, "hello")
	require.NoError(t, os.WriteFile(file, formatted, 0o666))
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, file)
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=1", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)

	argv := append(strings.Fields(os.Getenv("FIBERLAB_EXEC")), program)
	hello := exec.Command(argv[0], argv[1:]...)
	var stderr bytes.Buffer
	hello.Stderr = &stderr
	printed, err := hello.Output()
	require.NoError(t, err, "%s", stderr.String())
	require.Equal(t, output, string(printed), "%s", stderr.String())
}

// readme returns the section of README.md below that heading.
func readme(t *testing.T, heading string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n"+heading)
	require.True(t, found, "README.md has no heading %q", heading)
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

// block is an indented block of Markdown.
var block = regexp.MustCompile(`^\n*((?: {4}.*\n|\n)+)`)

// blockAfter returns the first indented block that follows that line, without its indentation.
func blockAfter(t *testing.T, section, line string) string {
	t.Helper()
	_, rest, found := strings.Cut(section, "\n"+line+"\n")
	require.True(t, found, "no line %q", line)
	match := block.FindStringSubmatch(rest)
	require.NotNil(t, match, "no block after %q", line)
	lines := strings.Split(strings.TrimRight(match[1], "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "    ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// README can be read in some minutes: it has at most 150 lines, and its prose some 700 words.
func TestReadmeIsShort(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	require.LessOrEqual(t, bytes.Count(text, []byte("\n")), 150)
	words := 0
	for _, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "    ") {
			words += len(strings.Fields(strings.ReplaceAll(line, "|", "")))
		}
	}
	require.LessOrEqual(t, words, 750)
}
