package uring_test

import (
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/tests/internal/suite"
)

// randomSteps makes random steps on a new file: the same ones for all files, if the seed is the same.
func randomSteps(t *testing.T, open opener, name string, flag int, seed uint64, steps int) (all account) {
	random := rand.New(rand.NewPCG(seed, uint64(flag)))
	f, err := open(name, flag|os.O_CREATE|os.O_TRUNC, 0o600)
	if !assert.NoError(t, err) {
		return nil
	}
	for range steps {
		size, offset := max(0, random.IntN(330)-30), int64(random.IntN(3000)-500) // a tenth of the steps are empty
		switch random.IntN(4) {
		case 0, 1:
			all.read(f, size)
		case 2:
			all.write(f, size, size)
		case 3:
			if random.IntN(50) == 0 {
				offset = math.MaxInt64 - int64(random.IntN(10))
			}
			all.seek(f, offset, random.IntN(6)) // from unix.SEEK_SET to SEEK_HOLE, and one that there is not
		}
	}
	all.step("close", 0, f.Close())
	data, err := os.ReadFile(name)
	all.step(fmt.Sprintf("contents %08x", hash(data)), int64(len(data)), err)
	return all
}

// A file does what one of package os does, whatever is asked of it.
func TestFileLikeThatOfPackageOS(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	steps := suite.Scaled(1000, 200)
	dir := t.TempDir()
	for _, flag := range []int{os.O_RDWR, os.O_RDWR | os.O_APPEND, os.O_WRONLY, os.O_RDONLY} {
		t.Run(fmt.Sprintf("flag=%#x", flag), func(t *testing.T) {
			want := randomSteps(t, byOS, filepath.Join(dir, "model"), flag, seed, steps)
			eachFileUser(t, func(t *testing.T, u fileUser) {
				var got account
				u.run(
					func() { got = randomSteps(t, byEngines(u.engines), filepath.Join(dir, "file"), flag, seed, steps) },
				)
				requireSame(t, want, got)
			})
		})
	}
}

// A file is opened, or refused, as by package os, and has the same permissions.
func TestOpenLikePackageOS(t *testing.T) {
	defer unix.Umask(unix.Umask(0o027))
	flags := []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR}
	further := []int{os.O_CREATE, os.O_EXCL, os.O_TRUNC, os.O_APPEND, os.O_SYNC, unix.O_NOFOLLOW, unix.O_DIRECTORY}
	most := suite.Scaled(len(further), 2) // of the further ones at once
	count := make(map[int]int)            // how many of them a combination has
	for _, more := range further {
		for _, flag := range flags {
			if count[flag] < most {
				flags = append(flags, flag|more)
				count[flag|more] = count[flag] + 1
			}
		}
	}
	run := func(t *testing.T, open opener) (all account) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(dir+"/text", []byte("text"), 0o600))
		require.NoError(t, os.Symlink("text", dir+"/link"))
		require.NoError(t, os.Symlink("nowhere", dir+"/loose"))
		require.NoError(t, os.Mkdir(dir+"/dir", 0o700))
		for _, flag := range flags {
			for _, name := range []string{"new", "text", "link", "loose", "dir", "text/below"} {
				path := filepath.Join(dir, name)
				f, err := open(path, flag, 0o7777|fs.ModeSticky)
				all.step(fmt.Sprintf("open %q %#x", name, flag), 0, err)
				if err == nil {
					all.step("close", 0, f.Close())
				}
				if info, err := os.Lstat(path); err == nil {
					all = append(all, fmt.Sprint(info.Mode(), info.Size()))
				}
				_ = os.Remove(dir + "/new")
				_ = os.Remove(dir + "/nowhere")
			}
		}
		return all
	}
	want := run(t, byOS)
	eachFileUser(t, func(t *testing.T, u fileUser) {
		var got account
		u.run(func() { got = run(t, byEngines(u.engines)) })
		requireSame(t, want, got)
	})
}

// Writers that share a file's position write each record once, and whole; so do writers that append.
func TestWritersShareAFile(t *testing.T) {
	const writers, records = 4, 50
	eachFileUser(t, func(t *testing.T, u fileUser) {
		for _, flag := range []int{os.O_RDWR, os.O_RDWR | os.O_APPEND} {
			name := filepath.Join(t.TempDir(), "file")
			f, err := byEngines(u.engines)(name, flag|os.O_CREATE, 0o600)
			require.NoError(t, err)
			var all sync.WaitGroup
			var waits []func()
			for i := range writers {
				all.Add(1)
				waits = append(waits, u.begin(func() {
					defer all.Done()
					for j := range records {
						_, err := fmt.Fprintf(f, "%d %d %s\n", i, j, strings.Repeat("x", i*j))
						assert.NoError(t, err)
					}
				}))
			}
			for _, wait := range waits {
				wait()
			}
			at, err := f.Seek(0, io.SeekCurrent)
			require.NoError(t, err)
			require.NoError(t, f.Close())
			data, err := os.ReadFile(name)
			require.NoError(t, err)
			require.Len(t, data, int(at))
			lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
			require.Len(t, lines, writers*records)
			var next [writers]int
			for _, line := range lines {
				var i, j int
				_, err := fmt.Sscan(line, &i, &j)
				require.NoError(t, err)
				require.Equal(t, next[i], j)
				require.Equal(t, fmt.Sprintf("%d %d %s", i, j, strings.Repeat("x", i*j)), line)
				next[i]++
			}
		}
	})
}
