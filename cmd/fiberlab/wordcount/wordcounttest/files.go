// Package wordcounttest makes folders for tests to count, and files that cannot be read to their end.
package wordcounttest

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	_ "fiberlab/internal/platform"
)

// WriteFiles fills dir: a name that ends in a slash is a directory.
func WriteFiles(t *testing.T, dir string, files map[string]string) {
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

// ErrBroken is the error of files that FailingOpener has opened.
var ErrBroken = errors.New("the disk is broken")

// FailingOpener opens files that fail after so many bytes if the last element of their path is name.
func FailingOpener(name string, after int64) func(path string) (io.ReadCloser, error) {
	return func(path string) (io.ReadCloser, error) {
		f, err := os.Open(path)
		if err != nil || filepath.Base(path) != name {
			return f, err
		}
		return struct {
			io.Reader
			io.Closer
		}{io.MultiReader(io.LimitReader(f, after), iotest.ErrReader(ErrBroken)), f}, nil
	}
}
