package fiberio

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// soonDone is a context that is done when it is asked for the second time.
type soonDone struct {
	context.Context
	asked int
}

func (c *soonDone) Done() <-chan struct{} { return make(chan struct{}) }

func (c *soonDone) Err() error {
	if c.asked++; c.asked < 2 {
		return nil
	}
	return context.Canceled
}

// The goroutine that is to open a file may get to run only after its caller has given up. Then it opens nothing: it
// might wait forever, for a pipe without another end.
func TestOpenThatWasGivenUpDoesNotBegin(t *testing.T) {
	// the goroutine begins after the caller has returned, unless that is interrupted
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	stacks := make([]byte, 1<<20)
	for range 20 {
		name := filepath.Join(t.TempDir(), "file")
		fd, err := openElsewhere(
			&soonDone{Context: context.Background()}, name, unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o600,
		)
		if err == nil {
			require.NoError(t, unix.Close(fd))
			continue
		}
		require.ErrorIs(t, err, context.Canceled)
		for bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("offloadedCall")) {
			runtime.Gosched()
		}
		if _, err := os.Lstat(name); err != nil {
			require.ErrorIs(t, err, fs.ErrNotExist)
			return
		}
	}
	t.Fatal("each time, the file was opened after the caller had gone")
}
