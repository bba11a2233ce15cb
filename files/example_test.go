package files_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fiberlab/files"
	"fiberlab/sched"
	"fiberlab/sched/uring"
)

// must panics with err.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// poems makes a directory with two files. The caller removes it.
func poems() (dir string) {
	dir, err := os.MkdirTemp("", "poems")
	must(err)
	must(os.WriteFile(filepath.Join(dir, "rose"), []byte("a rose is a rose\nis a rose\n"), 0o600))
	must(os.WriteFile(filepath.Join(dir, "tyger"), []byte("burning bright\n"), 0o600))
	return dir
}

// The zero Setup is goroutines with package os.
func ExampleCopy() {
	dir := poems()
	defer os.RemoveAll(dir)
	to := filepath.Join(dir, "copy of tyger")
	copied, err := files.Copy(context.Background(), filepath.Join(dir, "tyger"), to, files.CopyOptions{
		Sized: func(bytes int64) { fmt.Println(bytes, "bytes to copy") },
	})
	must(err)
	text, err := os.ReadFile(to)
	must(err)
	fmt.Printf("%d file, %d bytes: %s", copied.Files, copied.Bytes, text)
	// Output:
	// 15 bytes to copy
	// 1 file, 15 bytes: burning bright
}

// Fibers of one worker search a tree: a fiber that waits for its file leaves the worker to the others.
func ExampleGrep() {
	dir := poems()
	defer os.RemoveAll(dir)
	found, err := files.Grep(context.Background(), "is a|bright$", dir, files.GrepOptions{
		Setup: files.Setup{Engines: &uring.Options{}, Scheduler: sched.Config{Workers: 1}},
		Lines: func(text []byte) error {
			fmt.Print(strings.ReplaceAll(string(text), dir+"/", ""))
			return nil
		},
	})
	must(err)
	fmt.Printf("%d lines in %d of %d files\n", found.Lines, found.Matching, found.Files)
	// Output:
	// rose:1:a rose is a rose
	// rose:2:is a rose
	// tyger:1:burning bright
	// 3 lines in 2 of 2 files
}
