package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a program may use besides time and memory.
const (
	descriptors         = 16
	emulatorDescriptors = 64
	stackSize           = 8 << 20
	programMemory       = 512 << 20 // what a submission may map
	emulatorMemory      = 1 << 30   // what an emulator may map for itself
	compilerMemory      = 2 << 30
	compilerFile        = 64 << 20
)

// confine gives up what the command does not need and executes it. It returns if that fails.
func confine(told string, argv []string) error {
	debug.SetGCPercent(-1) // nothing is to happen behind the back of what follows
	var c confinement
	if err := json.Unmarshal([]byte(told), &c); err != nil {
		return err
	}
	cmd, err := newCommand(argv)
	if err != nil {
		return err
	}
	cmd.emulator = c.Compiler == nil && !isProgram(argv)
	limits := c.limits(cmd.emulator)
	grants := c.grants(argv, cmd.emulator)
	var program *unix.SockFprog
	if c.Compiler == nil && hasSeccomp() {
		if program, err = filterProgram(rules(os.Getpid(), cmd)); err != nil {
			return err
		}
	}

	// if memory is short, this process goes first
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	// signals to its group reach nothing else
	_ = unix.Setpgid(0, 0)
	// emulators may not know it
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
	// what the parent has left open; the filters of old containers refuse close_range
	if unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC) != nil {
		for fd := 3; fd < 1024; fd++ {
			unix.CloseOnExec(fd)
		}
	}
	unix.Umask(0o077)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil && !isMissing(err) {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if err := restrictFiles(grants); err != nil {
		return err
	}
	for _, l := range limits {
		bound := unix.Rlimit{Cur: l.most, Max: l.most}
		if l.resource == unix.RLIMIT_CPU {
			bound.Max++ // SIGXCPU comes first
		}
		var inherited unix.Rlimit
		err := unix.Prlimit(0, l.resource, nil, &inherited)
		if err == nil { // to raise Max needs CAP_SYS_RESOURCE
			bound = unix.Rlimit{Cur: min(bound.Cur, inherited.Max), Max: min(bound.Max, inherited.Max)}
			err = unix.Prlimit(0, l.resource, &bound, nil)
		}
		if err != nil && !isMissing(err) {
			return fmt.Errorf("limit %d: %w", l.resource, err)
		}
	}
	// From here on there are system calls alone, without Go: it might ask for memory.
	if program != nil {
		_, _, errno := unix.RawSyscall(
			unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(program)),
		)
		if errno != 0 {
			return fmt.Errorf("seccomp: %w", errno)
		}
	}
	_, _, errno := unix.RawSyscall(unix.SYS_EXECVE, cmd.path, cmd.argv, cmd.env)
	return fmt.Errorf("%s: %w", argv[0], errno)
}

// isMissing is whether an error says that the kernel does not have that system call or option.
func isMissing(err error) bool {
	return errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP)
}

// limit is the most that may be used of a resource.
type limit struct {
	resource int
	most     uint64
}

func (c confinement) limits(emulator bool) []limit {
	seconds := uint64((c.Limits.CPU + time.Second - 1) / time.Second)
	if seconds == 0 {
		seconds = uint64(defaultCPU / time.Second)
	}
	bounds := []limit{
		{unix.RLIMIT_CPU, seconds}, {unix.RLIMIT_CORE, 0}, {unix.RLIMIT_MEMLOCK, 0}, {unix.RLIMIT_MSGQUEUE, 0},
	}
	switch {
	case c.Compiler != nil:
		return append(bounds, limit{unix.RLIMIT_FSIZE, compilerFile}, limit{unix.RLIMIT_AS, compilerMemory})
	case emulator: // it maps more than it uses, and has threads
		return append(bounds, limit{unix.RLIMIT_FSIZE, 0}, limit{unix.RLIMIT_NOFILE, emulatorDescriptors},
			limit{unix.RLIMIT_DATA, emulatorMemory + programMemory})
	default: // no processes: RLIMIT_NPROC binds no root, but then nothing else is lost
		return append(
			bounds, limit{unix.RLIMIT_FSIZE, 0}, limit{unix.RLIMIT_NOFILE, descriptors}, limit{unix.RLIMIT_NPROC, 0},
			limit{unix.RLIMIT_STACK, stackSize}, limit{unix.RLIMIT_DATA, programMemory},
			limit{unix.RLIMIT_AS, programMemory},
		)
	}
}

// grants returns what the command may do to files.
func (c confinement) grants(argv []string, emulator bool) (grants []grant) {
	switch {
	case c.Compiler != nil:
		return c.Compiler.grants()
	case !emulator:
		return []grant{{argv[0], runFile}}
	}
	// An emulator loads its libraries, and looks at the machine and at its own memory. It lists no folder.
	for _, path := range []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", argv[0]} {
		grants = append(grants, grant{path, runFile})
	}
	for _, path := range []string{
		"/etc/ld.so.cache", "/etc/ld.so.preload", "/proc/self/maps", "/proc/self/status", "/proc/cpuinfo",
		"/proc/sys/vm/mmap_min_addr", "/proc/sys/vm/overcommit_memory",
		"/sys/devices/system/cpu/online", "/sys/devices/system/cpu/possible",
	} {
		grants = append(grants, grant{path, readFiles})
	}
	for _, word := range argv[1:] { // the program is one of them, behind the emulator's flags
		if _, err := readELF(word); err == nil {
			grants = append(grants, grant{word, readFiles})
		}
	}
	if i := slices.Index(argv, "-g"); i >= 0 { // the socket for a debugger
		grants = append(grants, grant{filepath.Dir(argv[i+1]), socketTree})
	}
	return grants
}

// command is the command to execute, as the kernel expects it. It lies at a fixed address of the memory, where nothing
// else does.
type command struct {
	path, argv, env uintptr
	emulator        bool
}

// commandAddress is above all that a program has by itself, and below what the kernel maps for it.
const commandAddress = 0x13_0000_0000

func newCommand(argv []string) (*command, error) {
	env := os.Environ()
	var text strings.Builder
	var offsets []int
	for _, word := range append(append([]string{}, argv...), env...) {
		if strings.IndexByte(word, 0) >= 0 {
			return nil, fmt.Errorf("%q: %w", word, unix.EINVAL)
		}
		offsets = append(offsets, text.Len())
		text.WriteString(word + "\x00")
	}
	const word = unsafe.Sizeof(uintptr(0))
	pointers := uintptr(len(offsets)+2) * word
	size := pointers + uintptr(text.Len())
	at, _, errno := unix.Syscall6(unix.SYS_MMAP, commandAddress, size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED_NOREPLACE, ^uintptr(0), 0)
	if errno != 0 {
		return nil, fmt.Errorf("memory for the command: %w", errno)
	}
	memory := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(nil), at)), size)
	copy(memory[pointers:], text.String())
	list := unsafe.Slice((*uintptr)(unsafe.Pointer(&memory[0])), len(offsets)+2)
	for i, offset := range offsets {
		if i >= len(argv) {
			i++ // a null ends the arguments
		}
		list[i] = at + pointers + uintptr(offset)
	}
	return &command{path: list[0], argv: at, env: at + uintptr(len(argv)+1)*word}, nil
}
