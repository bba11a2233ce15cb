package goroutine

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHead(t *testing.T) {
	require.Regexp(t, `^goroutine [1-9][0-9]* \[running\]:$`, Head())
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	require.Regexp(t, `^goroutine [1-9][0-9]* \[running, locked to thread\]:$`, Head())

	here, there := Head(), make(chan string)
	go func() { there <- Head() }()
	require.NotEqual(t, here, <-there)
}

// A goroutine is listed by its number as long as it lives, with what it does and where.
func TestAll(t *testing.T) {
	number, end, ended := make(chan uint64), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		waitsThere(number, end)
	}()
	other := <-number
	require.NotEqual(t, Number(), other)
	traces, ok := All(1000)
	for ; traces[other].State != "chan receive"; traces, ok = All(1000) { // it takes a moment to wait
		require.True(t, ok)
	}
	require.Equal(t, "running", traces[Number()].State)
	frames := traces[other].Frames()
	require.Len(t, frames, 2)
	require.Equal(t, "fiberlab/internal/goroutine.waitsThere", frames[0].Function)
	require.Contains(t, frames[0].File, "/head_test.go")
	require.Positive(t, frames[0].Line)
	require.True(t, traces[other].In("fiberlab/internal/goroutine.waitsThere("))
	require.True(t, traces[other].In("fiberlab/internal/goroutine.TestAll.func"))
	require.False(t, traces[other].In("goroutine.waitsThere"))
	close(end)
	<-ended
	for listed := true; listed; _, listed = traces[other] { // it takes a moment to end
		traces, _ = All(1000)
	}
	_, ok = All(0)
	require.False(t, ok)
	require.EqualValues(t, 7, numberIn("goroutine 7 gp=0xc000002380 m=0 mp=0x1 [running]:"))
}

//go:noinline
func waitsThere(number chan<- uint64, end <-chan struct{}) {
	number <- Number()
	<-end
}
