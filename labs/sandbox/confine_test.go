package sandbox_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/machine"
	"fiberlab/labs/sandbox"
)

// emulators are the ways in which programs of an architecture run here: nil is by the kernel.
func emulator(t *testing.T, a *machine.Arch) []string {
	t.Helper()
	words := strings.Fields(os.Getenv("FIBERLAB_EXEC"))
	if len(words) > 0 && a == machine.Native() {
		return words
	}
	if a == machine.Native() {
		return nil
	}
	_, err := exec.LookPath(a.Emulator)
	require.NoError(t, err, "scripts/need foreign installs it")
	return []string{a.Emulator}
}

// arches are the architectures whose programs can run here.
func arches() []*machine.Arch {
	if os.Getenv("FIBERLAB_EXEC") != "" {
		return []*machine.Arch{machine.Native()} // an emulator in an emulator shows nothing new
	}
	return []*machine.Arch{machine.AMD64, machine.ARM64}
}

// attempts build one program for that architecture whose answer has several bodies, and return a function that runs one
// of them, confined, and returns how it ended.
func attempts(
	t *testing.T, a *machine.Arch, bodies map[string]string,
) func(*testing.T, string, sandbox.Limits) (syscall.WaitStatus, string) {
	t.Helper()
	names := slices.Sorted(maps.Keys(bodies))
	source := headers + "int main(void);\nint answer(void) {\nswitch (atoi(getenv(\"ATTEMPT\"))) {\n"
	for i, name := range names {
		source += fmt.Sprintf("case %d: {\n%s\n} break;\n", i, bodies[name])
	}
	b, err := build(
		t, a, map[string]string{"answer.c": source + "}\nputs(\"not refused\"); fflush(stdout); return 0; }\n"},
	)
	require.NoError(t, err)
	return func(t *testing.T, name string, l sandbox.Limits) (syscall.WaitStatus, string) {
		t.Helper()
		argv := sandbox.Wrap(append(emulator(t, a), b.Path), l)
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
		defer cancel()
		c := exec.CommandContext(ctx, argv[0], argv[1:]...)
		c.Env, c.Dir = []string{fmt.Sprintf("ATTEMPT=%d", slices.Index(names, name))}, t.TempDir()
		out, _ := c.CombinedOutput()
		require.NoError(t, ctx.Err(), "it does not end")
		left, err := os.ReadDir(c.Dir)
		require.NoError(t, err)
		require.Empty(t, left, "it made files")
		return c.ProcessState.Sys().(syscall.WaitStatus), string(out)
	}
}

const headers = `#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
`

// What a C program of the labs needs is allowed: 0 is a good end.
func TestAllowed(t *testing.T) {
	bodies := map[string]string{
		"output": `printf("%s\n", "words"); fflush(stdout); return isatty(1);`,
		"memory": `char *p = malloc(64 << 20); memset(p, 1, 64 << 20); free(p); return p == 0;`,
		"stacks": `char *p = mmap(0, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); if (p == MAP_FAILED) ` +
			`return 1; if (mprotect(p + 4096, (1 << 20) - 4096, PROT_READ | PROT_WRITE)) return 2; p[8192] = 1; if ` +
			`(mmap(p + 8192, 4096, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != p + ` +
			`8192) return 3; return munmap(p, 1 << 20);`,
		"signals": `static char stack[65536]; stack_t s = {.ss_sp = stack, .ss_size = sizeof stack}; struct ` +
			`sigaction a = {.sa_handler = SIG_IGN}; sigset_t set; sigemptyset(&set); return sigaltstack(&s, 0) | ` +
			`sigaction(SIGUSR1, &a, 0) | raise(SIGUSR1) | kill(getpid(), SIGUSR1) | sigprocmask(SIG_BLOCK, &set, 0);`,
		"time": `struct timespec now, nap = {0, 1000}; return clock_gettime(CLOCK_MONOTONIC, &now) | ` +
			`nanosleep(&nap, 0);`,
		"limits": `struct rlimit l; return getrlimit(RLIMIT_STACK, &l);`,
	}
	for _, a := range arches() {
		try := attempts(t, a, bodies)
		for name := range bodies {
			t.Run(name+"/"+a.Name, func(t *testing.T) {
				status, out := try(t, name, sandbox.Limits{})
				require.True(t, status.Exited() && status.ExitStatus() == 0, "%v: %s", describe(status), out)
			})
		}
	}
}

// What is not allowed raises SIGSYS, also if the program ignores it.
func TestRefused(t *testing.T) {
	if sandbox.Missing() != "" {
		t.Skip(sandbox.Missing())
	}
	bodies := map[string]string{
		"fork":          `fork();`,
		"vfork":         `if (vfork() == 0) _exit(0);`,
		"socket":        `socket(AF_INET, SOCK_DGRAM, 0);`,
		"TCP":           `socket(AF_INET, SOCK_STREAM, 0);`,
		"netlink":       `socket(AF_NETLINK, SOCK_RAW, 0);`,
		"write a file":  `open("file", O_WRONLY | O_CREAT, 0600);`,
		"memory file":   `syscall(SYS_memfd_create, "x", 0);`,
		"make a folder": `mkdirat(AT_FDCWD, "folder", 0700);`,
		"remove a file": `renameat(AT_FDCWD, "a", AT_FDCWD, "b");`,
		"exec":          `char *argv[] = {"sh", 0}; execve("/bin/sh", argv, argv + 1);`,
		"thread": `syscall(SYS_clone, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | ` +
			`CLONE_SYSVSEM, malloc(65536) + 65536, 0, 0, 0);`,
		"kill its group": `kill(0, SIGTERM);`,
		"kill all":       `kill(-1, SIGTERM);`,
		"kill parent":    `kill(getppid(), SIGTERM);`,
		"more limits":    `struct rlimit l = {1, 1}; syscall(SYS_prlimit64, getppid(), RLIMIT_NOFILE, &l, 0);`,
	}
	for _, a := range arches() {
		try := attempts(t, a, bodies)
		for name := range bodies {
			t.Run(name+"/"+a.Name, func(t *testing.T) {
				status, out := try(t, name, sandbox.Limits{})
				require.True(t, status.Signaled() && status.Signal() == syscall.SIGSYS, "%v: %s", describe(status), out)
			})
		}
	}
}

// Natively a program has less: no files at all, no code that it has made itself, no descriptors but what it was given.
func TestRefusedNatively(t *testing.T) {
	if sandbox.Missing() != "" {
		t.Skip(sandbox.Missing())
	}
	bodies := map[string]string{
		"read a file": `open("/proc/self/mem", O_RDONLY);`,
		"ptrace":      `ptrace(PTRACE_ATTACH, getppid(), 0, 0);`, // qemu-user does not even ask the kernel
		"be traced":   `ptrace(PTRACE_TRACEME, 0, 0, 0);`,
		"dup":         `dup(1);`,
		"unix socket": `socket(AF_UNIX, SOCK_STREAM, 0);`,
		"clone3":      `static char arguments[88]; syscall(SYS_clone3, arguments, sizeof arguments);`,
		"new code":    `mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);`,
		"changed code": `mprotect((void *)((unsigned long)main & ~4095ul), 4096, PROT_READ | PROT_WRITE | ` +
			`PROT_EXEC);`,
		"exec of itself": `char *argv[] = {"x", 0}; execve("/proc/self/exe", argv, argv + 1);`,
		// The filter knows the one exec by the addresses of its arguments.
		"exec again": `mmap((void *)0x1300000000, 8192, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | ` +
			`MAP_ANONYMOUS, -1, 0);`,
		"near it": `mmap((void *)0x12fffff000, 8192, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | ` +
			`MAP_ANONYMOUS, -1, 0);`,
		"moved there": `char *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			mremap(p, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)0x1300000000);`,
		"ignored": `signal(SIGSYS, SIG_IGN); fork();`,
	}
	try := attempts(t, machine.Native(), bodies)
	for name := range bodies {
		t.Run(name, func(t *testing.T) {
			status, out := try(t, name, sandbox.Limits{})
			require.True(t, status.Signaled() && status.Signal() == syscall.SIGSYS, "%v: %s", describe(status), out)
		})
	}
}

// Under an emulator a program may read what the emulator needs, and nothing else. It lists no folder, and cannot write.
func TestFilesUnderEmulator(t *testing.T) {
	if sandbox.Missing() != "" {
		t.Skip(sandbox.Missing())
	}
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o644))
	a := machine.ARM64
	if machine.Native() == a {
		a = machine.AMD64
	}
	bodies := map[string]string{
		"read": fmt.Sprintf(
			`return open(%q, O_RDONLY) >= 0 || errno != EACCES || open("/etc/passwd", O_RDONLY) >= 0;`, secret,
		),
		"list": `return open("/usr/lib", O_RDONLY | O_DIRECTORY) >= 0 || errno != EACCES || ` +
			`open("/sys/devices/system", O_RDONLY | O_DIRECTORY) >= 0;`,
		"bin": `return open("/usr/bin/env", O_RDONLY) >= 0 || errno != EACCES || ` +
			`open("/sys/devices/system/cpu/present", O_RDONLY) >= 0;`,
	}
	try := attempts(t, a, bodies)
	for name := range bodies {
		status, out := try(t, name, sandbox.Limits{})
		require.True(t, status.Exited() && status.ExitStatus() == 0, "%s: %v: %s", name, describe(status), out)
	}
}

// Time and memory end.
func TestLimits(t *testing.T) {
	const spin, eat = "spin", "eat"
	for _, a := range arches() {
		try := attempts(t, a, map[string]string{
			spin: `for (;;) ;`,
			eat: `unsigned long n = 0;
				char *p;
				while ((p = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED &&
				       n < 4096)
					*p = 1, n++;
				return n < 2048 ? 42 : 1;`,
		})
		t.Run("time/"+a.Name, func(t *testing.T) {
			status, out := try(t, spin, sandbox.Limits{CPU: time.Second})
			require.True(
				t, status.Signaled() && (status.Signal() == syscall.SIGXCPU || status.Signal() == syscall.SIGKILL),
				"%v: %s", describe(status), out,
			)
		})
		if os.Getenv("FIBERLAB_EXEC") != "" {
			continue // qemu-user keeps bounds on memory from the kernel
		}
		t.Run("memory/"+a.Name, func(t *testing.T) {
			status, out := try(t, eat, sandbox.Limits{})
			if a != machine.Native() && noMemoryForEmulator.MatchString(out) {
				return // the emulator asked for the last of the memory, before the program did
			}
			require.True(t, status.Exited() && status.ExitStatus() == 42, "%v: %s", describe(status), out)
		})
	}
}

// A hard limit that the grader inherits and that is lower than the sandbox's stays.
func TestLowerLimit(t *testing.T) {
	a := machine.Native()
	b, err := build(t, a, map[string]string{
		"answer.c": headers + "int answer(void) { struct rlimit l; return getrlimit(RLIMIT_NOFILE, &l) ? 1 : l.rlim_max; }\n",
	})
	require.NoError(t, err)
	argv := append([]string{"-c", `ulimit -n 14 && exec "$@"`, "sh"},
		sandbox.Wrap(append(emulator(t, a), b.Path), sandbox.Limits{})...)
	c := exec.Command("sh", argv...)
	out, _ := c.CombinedOutput()
	require.Equal(t, 14, c.ProcessState.ExitCode(), "the limit of descriptors: %s", out)
}

// noMemoryForEmulator is what qemu-user prints, by way of its library, when the limit leaves none to itself.
var noMemoryForEmulator = regexp.MustCompile(`qemu-\w+\[\d+\].*failed to allocate \d+ bytes`)

func describe(s syscall.WaitStatus) string {
	if s.Signaled() {
		return "ended by " + s.Signal().String()
	}
	return fmt.Sprintf("exit status %d", s.ExitStatus())
}
