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
