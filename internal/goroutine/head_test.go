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

// What a goroutine is called is listed as long as it lives, and never again.
func TestAll(t *testing.T) {
	named, end, ended := make(chan string), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		named <- Name()
		<-end
	}()
	name := <-named
	require.NotEqual(t, Name(), name)
	names, ok := All(1000)
	require.True(t, ok)
	require.True(t, names[name])
	require.True(t, names[Name()])
	close(end)
	<-ended
	for names[name] { // it takes a moment to end
		names, _ = All(1000)
	}
	_, ok = All(0)
	require.False(t, ok)
	require.Equal(t, "goroutine 7", nameIn("goroutine 7 gp=0xc000002380 m=0 mp=0x1 [running]:"))
}
