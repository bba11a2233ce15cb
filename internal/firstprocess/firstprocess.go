// Package firstprocess runs programs as process 1 of a new namespace of process numbers, as the command of a container
// is. There the first thread has number 1, numbers grow by one, and the program is the parent of all orphans. A signal
// whose action is the default one does nothing to it.
package firstprocess

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	_ "fiberlab/internal/platform"
)

// Command returns the command that runs program as such a process, with a /proc that shows its namespace. If this
// process may not make namespaces, the test is skipped and says why.
func Command(t testing.TB, program ...string) *exec.Cmd {
	t.Helper()
	// The others must not see that /proc.
	return command(t, `mount --make-rprivate / && mount -t proc proc /proc && exec "$@"`, program)
}

// WithoutProc is Command with a /proc that shows another namespace, as with `unshare --pid --fork` alone.
func WithoutProc(t testing.TB, program ...string) *exec.Cmd {
	t.Helper()
	return command(t, `exec "$@"`, program)
}

func command(t testing.TB, script string, program []string) *exec.Cmd {
	t.Helper()
	if os.Getuid() != 0 {
		// os/exec leaves a pipe open if it can make no user namespace, so another program tries that first.
		if out, err := exec.Command("unshare", "--user", "true").CombinedOutput(); err != nil {
			t.Skipf("not tried as process 1: no user namespace can be made here: %v %s", err, strings.TrimSpace(string(out)))
		}
	}
	if out, err := shell(script, "true").CombinedOutput(); err != nil {
		t.Skipf("not tried as process 1: no namespace can be made here: %v %s", err, strings.TrimSpace(string(out)))
	}
	return shell(script, program...)
}

// shell returns the command that runs script, which becomes program, as process 1.
func shell(script string, program ...string) *exec.Cmd {
	c := exec.Command("/bin/sh", append([]string{"-c", script, "sh"}, program...)...)
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	if uid := os.Getuid(); uid != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	c.SysProcAttr = attr
	return c
}
