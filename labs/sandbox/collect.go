package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
)

// What a submission may hand in.
const (
	MaxFiles    = 64
	MaxFileSize = 1 << 20 // bytes
)

// ErrSubmission says that a submission cannot be taken as it is. The error that wraps it names the file.
var ErrSubmission = errors.New("cannot be handed in")

var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// Collect copies the files in the folder dir whose names match one of patterns into the folder into, and returns their
// names, sorted. It takes regular files only. A link, a pipe, a device, a file that is too large or has an odd name,
// and too many files are errors that wrap ErrSubmission. Folders are left out.
func Collect(dir string, patterns []string, into string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() &&
			slices.ContainsFunc(patterns, func(p string) bool { ok, _ := filepath.Match(p, e.Name()); return ok }) {
			names = append(names, e.Name())
		}
	}
	if len(names) > MaxFiles {
		return nil, fmt.Errorf("%w: %d files (at most %d)", ErrSubmission, len(names), MaxFiles)
	}
	for _, name := range names {
		if err := collect(filepath.Join(dir, name), filepath.Join(into, name)); err != nil {
			return nil, err
		}
	}
	return names, nil
}

func collect(from, to string) error {
	name := filepath.Base(from)
	if !plainName.MatchString(name) {
		return fmt.Errorf(
			"%q %w: its name may have letters, digits, dots, hyphens and underscores only", name, ErrSubmission,
		)
	}
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s %w: it is a %s, not a plain file", name, ErrSubmission, KindOf(info.Mode()))
	}
	if info.Size() > MaxFileSize {
		return fmt.Errorf("%s %w: it has %d bytes (at most %d)", name, ErrSubmission, info.Size(), MaxFileSize)
	}
	// What lies there may have changed since: neither follow a link now, nor wait for the writer of a pipe, nor read
	// without end.
	f, err := os.OpenFile(from, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxFileSize))
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

// KindOf says what a file is that is not a folder. It is empty for a plain file.
func KindOf(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return ""
	case m&fs.ModeSymlink != 0:
		return "symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	default:
		return "device"
	}
}
