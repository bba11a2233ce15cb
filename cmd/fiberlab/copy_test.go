package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/sched/uring"
	"fiberlab/wordcount/wordcounttest"
)

// summary says of each entry below dir its mode, and its checksum or where it leads.
func summary(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := entry.Info()
		require.NoError(t, err)
		text := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			sum := sha256.Sum256(data)
			text += " " + hex.EncodeToString(sum[:])
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			require.NoError(t, err)
			text += " " + target
		}
		relative, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		all[relative] = text
		return nil
	}))
	return all
}

// eachFilesDriver runs test for each value of --driver.
func eachFilesDriver(t *testing.T, test func(t *testing.T, driver string)) {
	for _, driver := range driverNames() {
		t.Run(driver, func(t *testing.T) {
			if report := uring.Probe(); driver == uring.Uring.String() && report.Reason != nil {
				got := newLab(nil, nil).test(t, "grep", "--driver", driver, "text", t.TempDir())
				require.Equal(t, exitUsage, got.code)
				require.Contains(t, got.stderr, "no io_uring")
				t.Log(report.Reason)
				return
			}
			test(t, driver)
		})
	}
}

func TestCopyTree(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	from := t.TempDir()
	for i := range 100 {
		dir := filepath.Join(from, fmt.Sprintf("d%d/e%d", i%5, i%3))
		require.NoError(t, os.MkdirAll(dir, 0o755))
		data := make([]byte, i*i*4)
		_, _ = random.Read(data)
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), data, fs.FileMode(0o400+i%0o100)))
	}
	big := make([]byte, 1_000_000)
	_, _ = random.Read(big)
	require.NoError(t, os.WriteFile(filepath.Join(from, "big"), big, 0o640))
	require.NoError(t, os.Symlink("../none", filepath.Join(from, "d1", "link")))
	require.NoError(t, os.Mkdir(filepath.Join(from, "closed"), 0o500))
	eachFilesDriver(t, func(t *testing.T, driver string) {
		to := filepath.Join(t.TempDir(), "copy")
		got := newLab(nil, nil).test(t, "cp", "-r", "--driver", driver, from, to)
		require.Zero(t, got.code, got.stderr)
		require.Contains(t, got.stdout, "101 files")
		want := summary(t, from)
		require.Equal(t, want, summary(t, to))

		// Once more, into what is there: it is a folder, so the copy goes into it.
		got = newLab(nil, nil).test(t, "cp", "-r", "--json", "--driver", driver, from, to)
		require.Zero(t, got.code, got.stderr)
		require.EqualValues(t, 101, decode(t, got.stdout).Copied.Files)
		require.Equal(t, want, summary(t, filepath.Join(to, filepath.Base(from))))
	})
}

func TestCopyFile(t *testing.T) {
	eachFilesDriver(t, func(t *testing.T, driver string) {
		dir := t.TempDir()
		copy := func(args ...string) outcome {
			return newLab(nil, nil).test(t, append([]string{"cp", "--driver", driver}, args...)...)
		}
		wordcounttest.WriteFiles(t, dir, map[string]string{"a": "text\n", "d/": "", "e/f": "old and longer\n"})
		require.NoError(t, os.Chmod(dir+"/a", 0o754))
		require.NoError(t, os.Symlink("a", dir+"/link"))
		require.NoError(t, os.Link(dir+"/a", dir+"/hard"))

		for _, to := range []string{"/b", "/d", "/e/f"} {
			got := copy(dir+"/a", dir+to)
			require.Zero(t, got.code, got.stderr)
		}
		for _, name := range []string{"/b", "/d/a", "/e/f"} {
			require.Equal(t, summary(t, dir+"/a")["."], summary(t, dir+name)["."], name)
		}
		for _, c := range []struct{ from, to, text string }{
			{"/a", "/a", "same file"},
			{"/a", "/link", "same file"},
			{"/a", "/hard", "same file"},
			{"/a", "", "same file"},
			{"/none", "/b", "no such file"},
			{"/a", "/none/b", "no such directory"},
			{"/d", "/x", "give -r"},
		} {
			got := copy(dir+c.from, dir+c.to)
			require.Equal(t, exitUsage, got.code, got.stderr)
			require.Contains(t, got.stderr, c.text)
		}
		for _, c := range []struct{ from, to, text string }{
			{"/d", "/d/x", "in the directory"},
			{"/d", "/d", "directory that is to be copied"},
			{"/d", "/b", "it is a file"},
		} {
			got := copy("-r", dir+c.from, dir+c.to)
			require.Equal(t, exitUsage, got.code, got.stderr)
			require.Contains(t, got.stderr, c.text)
		}
		require.Equal(t, exitUsage, copy("-r", dir+"/a", "").code)
		require.Equal(t, "text\n", contents(t, dir+"/a"))

		got := copy(dir+"/a", "/dev/full")
		require.Equal(t, exitFailed, got.code)
		require.Contains(t, got.stderr, "no space left on device")
		require.Zero(t, copy(dir+"/a", "/dev/null").code)
		info, err := os.Stat("/dev/null")
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&fs.ModeDevice, "it is still a device")

		require.NoError(t, syscall.Mkfifo(dir+"/d/pipe", 0o600))
		got = copy("-r", dir+"/d", dir+"/partly")
		require.Equal(t, exitFailed, got.code)
		require.Contains(t, got.stderr, "/d/pipe: it is no file, directory or link")
		require.Equal(t, "text\n", contents(t, dir+"/partly/a"), "the others are copied")
	})
}

func contents(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(data)
}

// A copy that is ended in its middle leaves no file of that name; an interrupted copy leaves nothing at all.
func TestCopyEndsInTheMiddle(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, os.Kill} {
		t.Run(signal.String(), func(t *testing.T) {
			eachFilesDriver(t, func(t *testing.T, driver string) {
				dir := t.TempDir()
				pipe := dir + "/pipe"
				require.NoError(t, syscall.Mkfifo(pipe, 0o600))
				f, err := os.OpenFile(pipe, os.O_RDWR, 0)
				require.NoError(t, err)
				defer f.Close()
				c := command("cp", "--driver", driver, pipe, dir+"/copy")
				require.NoError(t, c.Start())
				_, err = f.WriteString("half")
				require.NoError(t, err)
				for { // until that is in the file beside
					names, err := filepath.Glob(dir + "/.fiberlab-*.part")
					require.NoError(t, err)
					if len(names) == 1 && contents(t, names[0]) == "half" {
						break
					}
					time.Sleep(time.Millisecond)
				}
				require.NoError(t, c.Process.Signal(signal))
				_ = c.Wait()
				require.NoFileExists(t, dir+"/copy")
				if signal == os.Interrupt {
					require.Equal(t, exitInterrupted, c.ProcessState.ExitCode())
					left, err := os.ReadDir(dir)
					require.NoError(t, err)
					require.Len(t, left, 1, "the pipe alone")
				}
			})
		})
	}
}

func TestGrep(t *testing.T) {
	dir := t.TempDir()
	wordcounttest.WriteFiles(t, dir, map[string]string{
		"a":      "one\ntwo\nthree two\n",
		"b/c":    "two at the end",
		"b/bin":  "\x00\ntwo\ntwo\n",
		"b/none": "nothing\n",
		"empty":  "",
	})
	for i := range 60 {
		name := filepath.Join(dir, fmt.Sprintf("many%02d", i))
		require.NoError(t, os.WriteFile(name, []byte(strings.Repeat("line\n", i*300)+"two\n"), 0o600))
	}
	require.NoError(t, os.Symlink("a", dir+"/link"))
	want := dir + "/a:2:two\n" + dir + "/a:3:three two\n" + dir + "/b/bin: binary file matches\n" + dir + "/b/c:1:two at the end\n"
	for i := range 60 {
		want += fmt.Sprintf("%s/many%02d:%d:two\n", dir, i, i*300+1)
	}
	eachFilesDriver(t, func(t *testing.T, driver string) {
		grep := func(args ...string) outcome {
			return newLab(nil, nil).test(t, append([]string{"grep", "--driver", driver}, args...)...)
		}
		require.Equal(t, outcome{0, want, ""}, grep("two$|^two", dir))
		require.Equal(t, outcome{0, dir + "/a:1:one\n", ""}, grep("one", dir+"/a"))
		require.Equal(t, outcome{grepNone, "", ""}, grep("four", dir))

		got := grep("--json", "two", dir)
		require.Zero(t, got.code)
		found := decode(t, got.stdout).Found
		require.EqualValues(t, 65, found.Files)
		require.EqualValues(t, 63, found.Lines)
		require.EqualValues(t, 63, found.Matching)
		require.EqualValues(t, 1, found.Binary)

		got = grep("two", "/proc/self/mem") // which has nothing at its beginning
		require.Equal(t, grepFailed, got.code)
		require.Contains(t, got.stderr, "input/output error")
		require.Empty(t, got.stdout)
	})
	for _, c := range []struct {
		args []string
		text string
	}{
		{[]string{"[", dir}, "no regular expression"},
		{[]string{"two"}, "give two words"},
		{[]string{"two", dir + "/missing"}, "no such file"},
		{[]string{"two", dir, "--driver", "aio"}, "--driver aio: choose one of auto, uring, epoll or go"},
		{[]string{"two", dir, "--driver", "go", "--workers", "2"}, "--workers is about fibers"},
		{[]string{"two", dir, "--workers", "0"}, "--workers 0: give a number from 1 to 64"},
	} {
		got := newLab(nil, nil).test(t, append([]string{"grep"}, c.args...)...)
		require.Equal(t, exitUsage, got.code)
		require.Contains(t, got.stderr, c.text)
	}
}

// All drivers count the same words.
func TestRunReadsByEngines(t *testing.T) {
	dir := t.TempDir()
	for i := range 20 {
		wordcounttest.WriteFiles(t, dir, map[string]string{fmt.Sprint(i): strings.Repeat("some words here\n", i*100)})
	}
	eachFilesDriver(t, func(t *testing.T, driver string) {
		got := newLab(nil, nil).test(t, "run", "--no-table", "--backend", "asm,goroutine", "--io", driver, dir)
		require.Zero(t, got.code, got.stderr)
	})
	got := newLab(nil, nil).test(t, "run", "--io", "aio", dir)
	require.Equal(t, exitUsage, got.code)
	require.Contains(t, got.stderr, "--io aio: choose one of auto, uring, epoll or go")
}
