package wordcount

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"fiberlab/cmd/fiberlab/wordcount/wordcounttest"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func names(t *testing.T, tr *Tree) []string {
	t.Helper()
	var names []string
	for _, file := range tr.Files {
		name, err := filepath.Rel(tr.Root, file.Path)
		require.NoError(t, err)
		names = append(names, name)
	}
	return names
}

func TestWalkSortsFiles(t *testing.T) {
	dir := t.TempDir()
	wordcounttest.WriteFiles(t, dir, map[string]string{
		"a.txt": "one two", "empty": "", "sub/deep/b.txt": "three", "binary": "a\x00b", "latin1": "caf\xe9\n", "void/": "",
	})
	require.NoError(t, os.Symlink(".", filepath.Join(dir, "loop")))
	require.NoError(t, os.Symlink("a.txt", filepath.Join(dir, "link.txt")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "dangling")))
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o666)) // to open it would block for ever

	tr, err := Walk(t.Context(), dir, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"a.txt", "empty", "sub/deep/b.txt"}, names(t, tr))
	require.Equal(t, int64(len("one two")+len("three")), tr.Bytes)
	require.Equal(t, 6, tr.Other)
	require.Empty(t, tr.Unreadable)
}

func TestWalkFollowsTheRootOnly(t *testing.T) {
	dir := t.TempDir()
	wordcounttest.WriteFiles(t, dir, map[string]string{"tree/a": "x"})
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("tree", link))
	tr, err := Walk(t.Context(), link, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, names(t, tr))
}

func TestWalkNamesWhatItCannotRead(t *testing.T) {
	dir := t.TempDir()
	wordcounttest.WriteFiles(t, dir, map[string]string{"good": "x", "bad": "y", "locked/c": "z"})
	locked := filepath.Join(dir, "locked")
	require.NoError(t, os.Chmod(locked, 0))
	defer os.Chmod(locked, 0o777)
	tr, err := Walk(t.Context(), dir, wordcounttest.FailingOpener("bad", 0))
	require.NoError(t, err)
	var unread []string
	for _, u := range tr.Unreadable {
		unread = append(unread, filepath.Base(u.Path)+": "+u.Reason())
	}
	want := []string{"bad: " + wordcounttest.ErrBroken.Error()}
	if os.Geteuid() != 0 { // root may list any directory
		want = append(want, "locked: permission denied")
	}
	require.Equal(t, want, unread)
}

func TestUnreadable(t *testing.T) {
	_, err := os.Open(filepath.Join(t.TempDir(), "none"))
	require.Equal(t, "f: no such file or directory", Unreadable{"f", err}.String())
	require.Equal(t, "f: the disk is broken", Unreadable{"f", wordcounttest.ErrBroken}.String())
	require.NotPanics(t, func() { _ = Unreadable{}.String() })
}

func TestWalkStops(t *testing.T) {
	dir := t.TempDir()
	wordcounttest.WriteFiles(t, dir, map[string]string{"a": "x"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Walk(ctx, dir, nil)
	require.ErrorIs(t, err, context.Canceled)
}

func TestWalkNamesADirectoryThatCannotBeWalked(t *testing.T) {
	dir := t.TempDir()
	wordcounttest.WriteFiles(t, dir, map[string]string{"file": "x"})
	for name, want := range map[string]error{"none": syscall.ENOENT, "file": syscall.ENOTDIR} {
		name = filepath.Join(dir, name)
		_, err := Walk(t.Context(), name, nil)
		var bad *DirectoryError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, name, bad.Dir)
		require.ErrorIs(t, err, want)
		require.Equal(
			t, fmt.Sprintf("directory %q: %v: name one that exists and may be listed", name, want), err.Error(),
		)
	}
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
