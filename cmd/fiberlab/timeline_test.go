package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var regexpData = regexp.MustCompile(`id="trace">[^<]*`)

func TestTimeline(t *testing.T) {
	dir := t.TempDir()
	trace, page := filepath.Join(dir, "run.json"), filepath.Join(dir, "page.html")
	got := newLab(nil, nil).test(
		t, "run", "--no-table", "--backend", "asm", "--trace", trace, "--timeline", page, smallTree(t),
	)
	require.Zero(t, got.code, got.stderr)
	got = newLab(nil, nil).test(t, "timeline", trace)
	require.Zero(t, got.code, got.stderr)
	data := func(file string) string {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return regexpData.FindString(string(text))
	}
	require.Equal(t, data(page), data(filepath.Join(dir, "run.html")), "both ways show the same")
	require.Greater(t, len(data(page)), 1000)
}

func TestTimelineFails(t *testing.T) {
	dir := t.TempDir()
	none, wrong := filepath.Join(dir, "none.json"), filepath.Join(dir, "wrong.json")
	require.NoError(t, os.WriteFile(wrong, []byte("{}]"), 0o644))
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"timeline"}, exitUsage, "name one that fiberlab run --trace"},
		{[]string{"timeline", filepath.Join(dir, "x.html")}, exitUsage, "rename it"},
		{[]string{"run", "--trace", "x", "--timeline", "./x"}, exitUsage, "name another file"},
		{[]string{"timeline", none}, exitFailed, "fiberlab run --trace " + none + " writes it"},
		{[]string{"timeline", wrong}, exitFailed, "no trace in JSON"},
		{[]string{"run", "--timeline", ""}, exitUsage, "name a file"},
		{[]string{"run", "--timeline", dir}, exitUsage, "is a directory"},
	} {
		got := newLab(nil, nil).test(t, c.args...)
		require.Equal(t, c.code, got.code, "%v: %s", c.args, got.stderr)
		require.Contains(t, got.stderr, c.says)
	}
	require.NoFileExists(t, filepath.Join(dir, "wrong.html"), "no half of a page is left")
}
