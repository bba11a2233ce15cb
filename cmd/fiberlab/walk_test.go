package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// writeFiles fills dir: a name that ends in a slash is a directory.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			require.NoError(t, os.MkdirAll(path, 0o777))
			continue
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	}
}

func names(t *testing.T, tr tree) []string {
	t.Helper()
	var names []string
	for _, file := range tr.text {
		name, err := filepath.Rel(tr.root, file.path)
		require.NoError(t, err)
		names = append(names, name)
	}
	return names
}

func TestWalkSortsFiles(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"a.txt": "one two", "empty": "", "sub/deep/b.txt": "three", "binary": "a\x00b", "latin1": "caf\xe9\n", "void/": "",
	})
	require.NoError(t, os.Symlink(".", filepath.Join(dir, "loop")))
	require.NoError(t, os.Symlink("a.txt", filepath.Join(dir, "link.txt")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "dangling")))
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o666)) // to open it would block for ever

	tr, err := walk(t.Context(), dir, openFile)
	require.NoError(t, err)
	require.Equal(t, []string{"a.txt", "empty", "sub/deep/b.txt"}, names(t, tr))
	require.Equal(t, int64(len("one two")+len("three")), tr.bytes)
	require.Equal(t, 6, tr.other)
	require.Empty(t, tr.unreadable)
}

func TestWalkFollowsTheRootOnly(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"tree/a": "x"})
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("tree", link))
	tr, err := walk(t.Context(), link, openFile)
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, names(t, tr))
}

func TestWalkNamesWhatItCannotRead(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"good": "x", "bad": "y", "locked/c": "z"})
	locked := filepath.Join(dir, "locked")
	require.NoError(t, os.Chmod(locked, 0))
	defer os.Chmod(locked, 0o777)
	tr, err := walk(t.Context(), dir, failingOpener("bad", 0))
	require.NoError(t, err)
	var unread []string
	for _, u := range tr.unreadable {
		unread = append(unread, filepath.Base(u.Path)+": "+u.Error)
	}
	want := []string{"bad: " + errBroken.Error()}
	if os.Geteuid() != 0 { // root may list any directory
		want = append(want, "locked: permission denied")
	}
	require.Equal(t, want, unread)
}

func TestWalkStops(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a": "x"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := walk(ctx, dir, openFile)
	require.ErrorIs(t, err, context.Canceled)
}

func TestIsText(t *testing.T) {
	for _, c := range []struct {
		head  string
		whole bool
		text  bool
	}{
		{"", true, true},
		{"plain\r\n\ttext\f", true, true},
		{"späte Größe 世界", true, true},
		{"nul\x00", true, false},
		{"caf\xe9 ", true, false},
		{"世\xe7\x95", true, false}, // ends within a rune
		{"世\xe7\x95", false, true}, // which the next bytes complete
		{"世\xf0\x9f\x98", false, true},
		{"世\x95", false, false}, // no rune goes on like this
		{"\x95\x95\x95\x95\x95", false, false},
	} {
		require.Equal(t, c.text, isText([]byte(c.head), c.whole), "%q, whole: %v", c.head, c.whole)
	}
}

var errBroken = errors.New("the disk is broken")

// failingOpener opens files that fail after so many bytes if the last element of their path is name.
func failingOpener(name string, after int64) opener {
	return func(path string) (io.ReadCloser, error) {
		f, err := os.Open(path)
		if err != nil || filepath.Base(path) != name {
			return f, err
		}
		return struct {
			io.Reader
			io.Closer
		}{io.MultiReader(io.LimitReader(f, after), brokenReader{}), f}, nil
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }
