package sandbox

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"fiberlab/labs/machine"
)

// decide runs the filter of a process with number 1000 over a system call, as the kernel would.
func decide(t *testing.T, a *machine.Arch, emulator bool, call string, arguments ...uint64) int {
	t.Helper()
	code, err := filter(
		a,
		rules(
			1000,
			&command{path: commandAddress + 64, argv: commandAddress, env: commandAddress + 16, emulator: emulator},
		),
	)
	require.NoError(t, err)
	_, err = bpf.Assemble(code)
	require.NoError(t, err)
	require.Less(t, len(code), 4096, "the kernel takes no more")
	machineOf := map[*machine.Arch]uint32{machine.AMD64: unix.AUDIT_ARCH_X86_64, machine.ARM64: unix.AUDIT_ARCH_AARCH64}
	number, ok := callNumber(a, call)
	require.True(t, ok, "%s has no %s", a.Name, call)
	data := make([]byte, argumentsOffset+6*8)
	// the interpreter reads packets, whose words are big-endian
	binary.BigEndian.PutUint32(data[numberOffset:], uint32(number))
	binary.BigEndian.PutUint32(data[archOffset:], machineOf[a])
	for i, v := range arguments {
		binary.BigEndian.PutUint32(data[argumentsOffset+8*i:], uint32(v))
		binary.BigEndian.PutUint32(data[argumentsOffset+8*i+4:], uint32(v>>32))
	}
	vm, err := bpf.NewVM(code)
	require.NoError(t, err)
	verdict, err := vm.Run(data)
	require.NoError(t, err)
	return verdict
}

// The filters of both architectures decide alike, also where the other one's programs do not run.
func TestFilter(t *testing.T) {
	const yes, no, absent = unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_TRAP, unix.SECCOMP_RET_ERRNO | int(unix.ENOSYS)
	const page = commandAddress
	for _, c := range []struct {
		call                  string
		arguments             []uint64
		native, underEmulator int
	}{
		{"write", []uint64{1}, yes, yes},
		{"newfstatat", nil, yes, yes},
		{"execve", []uint64{page + 64, page, page + 16}, yes, yes},
		{"execve", []uint64{page + 64, page, page + 24}, no, no},
		{"execve", []uint64{64, page, page + 16}, no, no},
		{"execveat", nil, no, no},
		{"kill", []uint64{1000, 9}, yes, yes},
		{"kill", []uint64{0, 9}, no, no},
		{"kill", []uint64{1<<64 - 1, 9}, no, no},
		{"tgkill", []uint64{1000, 1001, 9}, yes, yes},
		{"tgkill", []uint64{999, 999, 9}, no, no},
		{"mmap", []uint64{0, 4096, unix.PROT_READ, unix.MAP_PRIVATE}, yes, yes},
		{"mmap", []uint64{page + 1<<20, 4096, unix.PROT_READ, unix.MAP_PRIVATE}, no, no},
		{"mmap", []uint64{page - 4096, 8192, unix.PROT_READ, unix.MAP_PRIVATE}, no, no},
		{"mmap", []uint64{page + 1<<32, 4096, unix.PROT_READ, unix.MAP_PRIVATE}, yes, yes},
		{"mmap", []uint64{0, 4096, unix.PROT_READ | unix.PROT_EXEC, unix.MAP_PRIVATE}, no, yes},
		{"mmap", []uint64{0, 8 << 20, unix.PROT_NONE, unix.MAP_PRIVATE | unix.MAP_STACK}, yes, yes},
		{"mmap", []uint64{0, 256 << 10, unix.PROT_NONE, unix.MAP_PRIVATE | unix.MAP_STACK}, yes, no},
		{"mremap", []uint64{0, 0, 0, 0, page}, no, no},
		{"mprotect", []uint64{0, 4096, unix.PROT_WRITE}, yes, yes},
		{"mprotect", []uint64{0, 4096, unix.PROT_EXEC}, no, yes},
		{"openat", []uint64{0, 0, unix.O_RDONLY | unix.O_CLOEXEC}, no, yes},
		{"openat", []uint64{0, 0, unix.O_RDWR}, no, no},
		{"openat", []uint64{0, 0, unix.O_CREAT}, no, no},
		{"openat2", nil, no, no},
		{"clone", []uint64{uint64(unix.SIGCHLD)}, no, no},
		{"clone", []uint64{unix.CLONE_VM | unix.CLONE_THREAD}, no, yes},
		{"clone3", nil, no, absent},
		{"socket", []uint64{unix.AF_UNIX, unix.SOCK_STREAM}, no, yes},
		{"socket", []uint64{unix.AF_INET, unix.SOCK_DGRAM}, no, no},
		{"socket", []uint64{unix.AF_INET, unix.SOCK_STREAM}, no, no},
		{"socket", []uint64{unix.AF_INET6, unix.SOCK_STREAM}, no, no},
		{"madvise", []uint64{page, 4096, unix.MADV_DONTNEED}, yes, yes},
		{"madvise", []uint64{page, 4096, madvGuardInstall}, yes, yes},
		{"madvise", []uint64{page, 4096, unix.MADV_HWPOISON}, no, no},
		{"connect", nil, no, no},
		{"ptrace", nil, no, no},
		{"prlimit64", []uint64{0, 7, 0, page}, yes, yes},
		{"prlimit64", []uint64{0, 7, 1 << 32}, no, no},
		{"prctl", []uint64{unix.PR_SET_NAME}, yes, yes},
		{"prctl", []uint64{unix.PR_SET_DUMPABLE}, no, no},
		{"io_uring_setup", nil, no, no},
	} {
		for _, a := range []*machine.Arch{machine.AMD64, machine.ARM64} {
			require.Equal(
				t, c.native, decide(t, a, false, c.call, c.arguments...), "%s: %s(%#x)", a.Name, c.call, c.arguments,
			)
			require.Equal(
				t, c.underEmulator, decide(t, a, true, c.call, c.arguments...), "%s, emulator: %s(%#x)", a.Name, c.call,
				c.arguments,
			)
		}
	}
}
