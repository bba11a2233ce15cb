package sandbox

import (
	"fmt"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"fiberlab/labs/machine"
)

// A filter says for each system call what the kernel does. It is a list of rules; the first that fits decides. What no
// rule allows raises SIGSYS, so that the tracer sees which call it was.
type rule struct {
	call string
	when []condition // all of them; none: always
	fail unix.Errno  // if not 0, the call fails with it
}

// condition is about argument number arg, in the bits of mask.
type condition struct {
	arg   int
	mask  uint64
	equal uint64
	not   bool
}

const all = ^uint64(0)

func allow(calls ...string) []rule {
	rules := make([]rule, len(calls))
	for i, c := range calls {
		rules[i].call = c
	}
	return rules
}

func is(arg int, value uint64) condition        { return condition{arg: arg, mask: all, equal: value} }
func has(arg int, mask, value uint64) condition { return condition{arg: arg, mask: mask, equal: value} }
func hasNot(arg int, mask, bad uint64) condition {
	return condition{arg: arg, mask: mask, equal: bad, not: true}
}

// above is the upper 32 bits of an address. away keeps mappings from beginning in the 4 GB around the command and in
// the 4 GB below.
const above = 0xffffffff << 32

// rules are what a process with that number may do. The command that it executes lies at c; only from there may it be
// executed. For that, nothing else may be mapped near it.
func rules(pid int, c *command) []rule {
	page := uint64(c.path)
	away := func(arg int) []condition {
		return []condition{hasNot(arg, above, page&above), hasNot(arg, above, page&above-1<<32)}
	}
	const executable, myself = unix.PROT_EXEC, 0xffffffff

	r := []rule{{call: "execve", when: []condition{is(0, page), is(1, uint64(c.argv)), is(2, uint64(c.env))}}}
	r = append(
		r,
		allow(
			"brk", "munmap", "mincore", "mseal", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigsuspend",
			"rt_sigpending", "rt_sigtimedwait", "sigaltstack", "restart_syscall", "pause", "alarm", "setitimer",
			"getitimer", "getpid", "gettid", "getppid", "getuid", "geteuid", "getgid", "getegid", "uname", "sysinfo",
			"getcwd", "clock_gettime", "clock_getres", "gettimeofday", "time", "nanosleep", "clock_nanosleep",
			"sched_yield", "arch_prctl", "set_tid_address", "set_robust_list", "rseq", "getrlimit", "getrandom",
			"futex", "readlink", "readlinkat", "membarrier", "getrusage", "sched_getaffinity", "read", "readv", "close",
			"fstat", "newfstatat", "lseek", "poll", "ppoll", "exit", "exit_group",
		)...)
	for _, advice := range advices {
		r = append(r, rule{call: "madvise", when: []condition{has(2, 0xffffffff, advice)}})
	}
	for _, call := range []string{"kill", "tgkill"} {
		r = append(r, rule{call: call, when: []condition{has(0, myself, uint64(pid))}})
	}
	r = append(r,
		rule{call: "prlimit64", when: []condition{is(2, 0)}}, // what the limits are, not another limit
		rule{call: "prctl", when: []condition{has(0, myself, prSetVMA)}},
		rule{call: "prctl", when: []condition{has(0, myself, unix.PR_SET_NAME)}},
		rule{call: "ioctl", when: []condition{has(1, myself, unix.TCGETS)}}, // is the output a terminal?
		rule{call: "ioctl", when: []condition{has(1, myself, unix.TIOCGWINSZ)}})
	if !c.emulator {
		r = append(r, allow("write", "writev")...)
		return append(r,
			rule{call: "tkill", when: []condition{has(0, myself, uint64(pid))}},
			rule{call: "mmap", when: append(away(0), has(2, executable, 0))},
			rule{call: "mremap", when: away(4)},
			rule{call: "mprotect", when: []condition{has(2, executable, 0)}})
	}
	// An emulator loads itself from shared libraries, reads the program, translates it into memory that it executes,
	// has a thread for its own ends, and waits for a debugger.
	const forWriting = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC | unix.O_APPEND
	r = append(
		r,
		allow(
			"mprotect", "access", "faccessat", "faccessat2", "stat", "lstat", "statx", "pread64", "statfs", "fstatfs",
			"getdents64", "fcntl", "select", "pselect6", "pipe2", "eventfd2", "get_mempolicy", "set_mempolicy",
			"sched_setaffinity", "bind", "listen", "accept", "accept4", "setsockopt", "getsockopt", "getsockname",
			"recvfrom", "shutdown", "unlink", "unlinkat",
		)...)
	// It has the socket of the debugger, where the program's writes would pass for its answers. It uses send for these.
	for _, call := range []string{"write", "writev"} {
		for _, output := range []uint64{1, 2} {
			r = append(r, rule{call: call, when: []condition{has(0, myself, output)}})
		}
	}
	return append(r,
		// A thread that the program makes gets a small stack, a thread of the emulator a large one. The program's own
		// mappings are no stacks here.
		rule{call: "mmap", when: append(away(0), has(3, unix.MAP_STACK, 0))},
		rule{call: "mmap", when: append(away(0), hasNot(1, all&^(1<<20-1), 0))},
		rule{call: "mremap", when: away(4)},
		rule{call: "open", when: []condition{has(1, forWriting, 0)}},
		rule{call: "openat", when: []condition{has(2, forWriting, 0)}},
		rule{call: "sendto", when: []condition{is(4, 0)}},
		rule{call: "socket", when: []condition{has(0, myself, unix.AF_UNIX)}},
		rule{call: "tkill", when: []condition{has(0, myself, uint64(pid))}},
		rule{call: "clone", when: []condition{has(0, unix.CLONE_THREAD, unix.CLONE_THREAD)}},
		rule{call: "clone3", fail: unix.ENOSYS}) // its flags lie in memory; the C library then calls clone
}

// advices are what a program may tell the kernel of its memory (madvise): what C libraries, emulators and guards of
// stacks say. Others do harm: MADV_HWPOISON, which root may say, takes memory away from the whole machine.
var advices = []uint64{
	unix.MADV_NORMAL, unix.MADV_DONTNEED, unix.MADV_FREE, unix.MADV_DONTFORK, unix.MADV_DONTDUMP, unix.MADV_HUGEPAGE,
	unix.MADV_NOHUGEPAGE, madvGuardInstall, madvGuardRemove,
}

const madvGuardInstall, madvGuardRemove = 102, 103

const prSetVMA = 0x53564d41 // PR_SET_VMA gives a mapping a name

// Where the kernel puts, for a filter, what it looks at (struct seccomp_data).
const (
	numberOffset    = 0
	archOffset      = 4
	argumentsOffset = 16 // each has 8 bytes, the lower half first
)

// filter translates rules to the instructions that the kernel runs.
func filter(a *machine.Arch, rules []rule) ([]bpf.Instruction, error) {
	audit := uint32(unix.AUDIT_ARCH_X86_64)
	if a == machine.ARM64 {
		audit = unix.AUDIT_ARCH_AARCH64
	}
	trap := bpf.RetConstant{Val: unix.SECCOMP_RET_TRAP}
	code := []bpf.Instruction{
		bpf.LoadAbsolute{Off: archOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: audit, SkipTrue: 1},
		trap,
	}
	for _, r := range rules {
		number, ok := callNumber(a, r.call)
		if !ok {
			continue
		}
		verdict := bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
		if r.fail != 0 {
			verdict.Val = unix.SECCOMP_RET_ERRNO | uint32(r.fail)
		}
		body := []bpf.Instruction{verdict}
		for i := len(r.when) - 1; i >= 0; i-- { // backwards: a jump out of the rule must know how much is still to come
			body = append(test(r.when[i], len(body)), body...)
		}
		if len(body) > 255 {
			return nil, fmt.Errorf("the rule for %s is too long", r.call)
		}
		code = append(code,
			bpf.LoadAbsolute{Off: numberOffset, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(number), SkipFalse: uint8(len(body))})
		code = append(code, body...)
	}
	return append(code, trap), nil
}

// test returns the instructions that go on behind them if c holds, and else skip the next rest instructions too.
func test(c condition, rest int) []bpf.Instruction {
	lower := half(c, 0)
	upper := half(c, 4)
	switch {
	case c.mask>>32 == 0:
		return jump(lower, c.not, 0, rest)
	case uint32(c.mask) == 0:
		return jump(upper, c.not, 0, rest)
	case c.not:
		// Unequal is what differs in one half: the first that differs goes on behind the second.
		second := jump(upper, true, 0, rest)
		return append(jump(lower, false, 0, len(second)), second...)
	default:
		second := jump(upper, false, 0, rest)
		return append(jump(lower, false, 0, len(second)+rest), second...)
	}
}

type comparison struct {
	offset      uint32
	mask, equal uint32
}

func half(c condition, offset uint32) comparison {
	return comparison{
		argumentsOffset + uint32(c.arg)*8 + offset, uint32(c.mask >> (offset * 8)), uint32(c.equal >> (offset * 8)),
	}
}

// jump compares, and skips yes instructions if it is equal, and no if not; not exchanges them.
func jump(c comparison, not bool, yes, no int) []bpf.Instruction {
	if not {
		yes, no = no, yes
	}
	code := []bpf.Instruction{bpf.LoadAbsolute{Off: c.offset, Size: 4}}
	if c.mask != 1<<32-1 {
		code = append(code, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: c.mask})
	}
	return append(code, bpf.JumpIf{Cond: bpf.JumpEqual, Val: c.equal, SkipTrue: uint8(yes), SkipFalse: uint8(no)})
}

// filterProgram makes the filter ready to be loaded: afterwards no memory is needed.
func filterProgram(rules []rule) (*unix.SockFprog, error) {
	code, err := filter(machine.Native(), rules)
	if err != nil {
		return nil, err
	}
	raw, err := bpf.Assemble(code)
	if err != nil {
		return nil, err
	}
	list := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		list[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return &unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]}, nil
}

// hasSeccomp is whether filters can be loaded: a null one is then a bad address.
func hasSeccomp() bool {
	_, _, errno := unix.RawSyscall(
		unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(nil)),
	)
	return errno == unix.EFAULT
}
