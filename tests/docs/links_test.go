package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pages lists the documents: every Markdown file of the project.
func pages(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, file := range files(t) {
		if filepath.Ext(file) == ".md" {
			list = append(list, file)
		}
	}
	require.Contains(t, list, filepath.Join(root, "README.md"))
	require.Contains(t, list, filepath.Join(root, "docs", "glossary.md"))
	return list
}

// files lists the files of the project, but for what make has built.
func files(t *testing.T) []string {
	t.Helper()
	var list []string
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "build" || entry.Name() == ".git"):
			return fs.SkipDir
		case !entry.IsDir():
			list = append(list, path)
		}
		return nil
	}))
	return list
}

var (
	indented = regexp.MustCompile(`(?m)^ {4}.*$`) // programs and drawings
	link     = regexp.MustCompile(`\]\(([^)\s]+)[^)]*\)`)
	// path is a file or folder of the project in backticks: with a slash, and perhaps with wildcards.
	path = regexp.MustCompile(
		"`([a-z_]+/[\\w./*-]*\\.(?:go|c|h|S|cc|s|md|mk|txt|yml)|" +
			"(?:sched|fiber|internal|tests|docs|asm|stack|bench|cmd|labs)/[\\w/]*)`",
	)
	// bare is a file in backticks by its name alone.
	bare = regexp.MustCompile("(Write\\s+)?`([\\w-]+\\.(?:go|c|h|S|cc|s|md|mk))`")
)

// What the documents link to exists, and the heading to which a link leads.
func TestLinks(t *testing.T) {
	links, headings := 0, 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, match := range link.FindAllSubmatch(indented.ReplaceAll(text, nil), -1) {
			if strings.Contains(string(match[1]), "://") {
				continue
			}
			links++
			file, heading, deep := strings.Cut(string(match[1]), "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(target); !assert.NoError(t, err, "%s links to %s", page, match[1]) || !deep {
				continue
			}
			headings++
			assert.Contains(t, anchors(t, target), heading, "%s links to %s: there is no such heading", page, match[1])
		}
	}
	require.Greater(t, links, 40)
	require.Greater(t, headings, 0)
}

// anchors lists the names under which the headings of a page can be linked to.
func anchors(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	var list []string
	times := map[string]int{}
	for _, match := range regexp.MustCompile(`(?m)^#+ +(.*?) *$`).FindAllStringSubmatch(string(text), -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, match[1])
		if again := times[name]; again > 0 {
			list = append(list, name+"-"+strconv.Itoa(again))
		} else {
			list = append(list, name)
		}
		times[name]++
	}
	return list
}

// mostColumns is how wide a line of Go or Markdown may be. Rows of tables cannot be broken, so they may be wider.
const mostColumns = 120

// The lines of the sources and of the documents can be read side by side.
func TestWidth(t *testing.T) {
	sources := 0
	for _, file := range files(t) {
		switch filepath.Ext(file) {
		case ".go":
			sources++
		case ".md":
		default:
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for i, line := range strings.Split(string(text), "\n") {
			if columns := utf8.RuneCountInString(line); columns > mostColumns && !strings.HasPrefix(line, "|") {
				t.Errorf("%s:%d: %d columns: break the line (at most %d)", file, i+1, columns, mostColumns)
			}
		}
	}
	require.Greater(t, sources, 500)
}

// What the documents name by a path exists, in the project's folder or beside the document.
func TestPaths(t *testing.T) {
	paths := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, match := range path.FindAllSubmatch(text, -1) {
			paths++
			found, err := filepath.Glob(filepath.Join(root, string(match[1])))
			require.NoError(t, err)
			beside, err := filepath.Glob(filepath.Join(filepath.Dir(page), string(match[1])))
			require.NoError(t, err)
			assert.NotEmpty(t, append(found, beside...), "%s names %s", page, match[1])
		}
	}
	require.Greater(t, paths, 40)
}

// What the documents name by a file's name alone is a file of the project, or the reader is told to write it.
func TestBareNames(t *testing.T) {
	there := map[string]bool{}
	for _, file := range files(t) {
		there[filepath.Base(file)] = true
	}
	names := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		written := map[string]bool{}
		for _, match := range bare.FindAllStringSubmatch(string(text), -1) {
			names++
			written[match[2]] = written[match[2]] || match[1] != ""
			assert.True(t, there[match[2]] || written[match[2]], "%s names %s", page, match[2])
		}
	}
	require.Greater(t, names, 40)
}
