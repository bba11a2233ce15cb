package serve

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Why a server cannot listen is told without the names of system calls, and with what helps.
func TestExplain(t *testing.T) {
	wrapped := func(errno syscall.Errno) error {
		return &net.OpError{Op: "listen", Net: "tcp", Err: os.NewSyscallError("bind", errno)}
	}
	for want, err := range map[string]error{
		"permission denied: ports below 1024 are the administrator's: choose one from 1024 up, or 0 for any free one": wrapped(syscall.EACCES),
		"address already in use: choose another port, or 0 for any free one":                                          wrapped(syscall.EADDRINUSE),
		"too many open files: no descriptor is left: raise ulimit -n":                                                 wrapped(syscall.EMFILE),
		"no such host: name an address of this machine: 127.0.0.1 for clients on it alone, 0.0.0.0 for all":           &net.OpError{Op: "listen", Err: &net.DNSError{Err: "no such host", Name: "x"}},
	} {
		got := explain("x:80", err)
		var wrong *SetupError
		require.ErrorAs(t, got, &wrong)
		require.Equal(t, `cannot serve on "x:80": `+want, got.Error())
	}
	odd := errors.New("odd")
	require.ErrorIs(t, explain("x:80", odd), odd)
}
