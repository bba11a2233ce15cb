package sandbox

import (
	"fmt"

	"fiberlab/labs/machine"
)

// systemCalls are the numbers of system calls on amd64 and on arm64: the calls that a confined program may make, and
// those that are named when they are refused. -1 is none.
var systemCalls = map[string][2]int{
	// Memory.
	"brk": {12, 214}, "mmap": {9, 222}, "munmap": {11, 215}, "mprotect": {10, 226}, "mremap": {25, 216},
	"madvise": {28, 233}, "mincore": {27, 232}, "mseal": {462, 462},
	// Signals to itself.
	"rt_sigaction": {13, 134}, "rt_sigprocmask": {14, 135}, "rt_sigreturn": {15, 139}, "rt_sigsuspend": {130, 133},
	"rt_sigpending": {127, 136}, "rt_sigtimedwait": {128, 137}, "sigaltstack": {131, 132},
	"restart_syscall": {219, 128}, "pause": {34, -1}, "kill": {62, 129}, "tkill": {200, 130}, "tgkill": {234, 131},
	"alarm": {37, -1}, "setitimer": {38, 103}, "getitimer": {36, 102},
	// Who it is.
	"getpid": {39, 172}, "gettid": {186, 178}, "getppid": {110, 173}, "getuid": {102, 174}, "geteuid": {107, 175},
	"getgid": {104, 176}, "getegid": {108, 177}, "uname": {63, 160}, "sysinfo": {99, 179}, "getcwd": {79, 17},
	// Time.
	"clock_gettime": {228, 113}, "clock_getres": {229, 114}, "gettimeofday": {96, 169}, "time": {201, -1},
	"nanosleep": {35, 101}, "clock_nanosleep": {230, 115}, "sched_yield": {24, 124},
	// The start of a C program.
	"arch_prctl": {158, -1}, "prctl": {157, 167}, "set_tid_address": {218, 96}, "set_robust_list": {273, 99},
	"rseq": {334, 293}, "prlimit64": {302, 261}, "getrlimit": {97, 163}, "getrandom": {318, 278}, "futex": {202, 98},
	"readlink": {89, -1}, "readlinkat": {267, 78}, "membarrier": {324, 283}, "getrusage": {98, 165},
	"sched_getaffinity": {204, 123},
	// Descriptors that it has.
	"read": {0, 63}, "readv": {19, 65}, "write": {1, 64}, "writev": {20, 66}, "close": {3, 57}, "fstat": {5, 80},
	"newfstatat": {262, 79}, "lseek": {8, 62}, "ioctl": {16, 29}, "poll": {7, -1}, "ppoll": {271, 73},
	// Its end.
	"exit": {60, 93}, "exit_group": {231, 94},
	// Files.
	"open": {2, -1}, "openat": {257, 56}, "openat2": {437, 437}, "creat": {85, -1}, "stat": {4, -1}, "lstat": {6, -1},
	"statx": {332, 291}, "access": {21, -1}, "faccessat": {269, 48}, "faccessat2": {439, 439}, "pread64": {17, 67},
	"pwrite64": {18, 68}, "getdents64": {217, 61}, "statfs": {137, 43}, "fstatfs": {138, 44}, "truncate": {76, 45},
	"ftruncate": {77, 46}, "rename": {82, -1}, "renameat": {264, 38}, "renameat2": {316, 276}, "mkdir": {83, -1},
	"mkdirat": {258, 34}, "rmdir": {84, -1}, "unlink": {87, -1}, "unlinkat": {263, 35}, "link": {86, -1},
	"linkat": {265, 37}, "symlink": {88, -1}, "symlinkat": {266, 36}, "chmod": {90, -1}, "fchmod": {91, 52},
	"fchmodat": {268, 53}, "chown": {92, -1}, "fchown": {93, 55}, "fchownat": {260, 54}, "mknod": {133, -1},
	"mknodat": {259, 33}, "fcntl": {72, 25}, "dup": {32, 23}, "dup2": {33, -1}, "dup3": {292, 24}, "pipe": {22, -1},
	"pipe2": {293, 59}, "chdir": {80, 49}, "fchdir": {81, 50}, "umask": {95, 166}, "mount": {165, 40},
	"umount2": {166, 39}, "memfd_create": {319, 279}, "eventfd2": {290, 19}, "epoll_create1": {291, 20},
	"epoll_ctl": {233, 21}, "epoll_pwait": {281, 22}, "epoll_wait": {232, -1}, "select": {23, -1},
	"pselect6": {270, 72}, "inotify_init1": {294, 26}, "io_uring_setup": {425, 425}, "timerfd_create": {283, 85},
	"signalfd4": {289, 74},
	// Processes.
	"clone": {56, 220}, "clone3": {435, 435}, "fork": {57, -1}, "vfork": {58, -1}, "execve": {59, 221},
	"execveat": {322, 281}, "wait4": {61, 260}, "waitid": {247, 95}, "ptrace": {101, 117},
	"process_vm_readv": {310, 270}, "process_vm_writev": {311, 271}, "pidfd_open": {434, 434},
	"pidfd_send_signal": {424, 424}, "rt_sigqueueinfo": {129, 138}, "rt_tgsigqueueinfo": {297, 240},
	"setpgid": {109, 154}, "setsid": {112, 157}, "setrlimit": {160, 164}, "setpriority": {141, 140},
	"sched_setaffinity": {203, 122}, "sched_setscheduler": {144, 119}, "setuid": {105, 146}, "setgid": {106, 144},
	"capset": {126, 91}, "unshare": {272, 97}, "setns": {308, 268}, "seccomp": {317, 277}, "personality": {135, 92},
	"bpf": {321, 280}, "perf_event_open": {298, 241}, "userfaultfd": {323, 282}, "mlock": {149, 228},
	"mlockall": {151, 230}, "mbind": {237, 235}, "set_mempolicy": {238, 237}, "get_mempolicy": {239, 236},
	"timer_create": {222, 107}, "shmget": {29, 194}, "shmat": {30, 196},
	// Sockets.
	"socket": {41, 198}, "socketpair": {53, 199}, "connect": {42, 203}, "bind": {49, 200}, "listen": {50, 201},
	"accept": {43, 202}, "accept4": {288, 242}, "sendto": {44, 206}, "recvfrom": {45, 207}, "sendmsg": {46, 211},
	"recvmsg": {47, 212}, "shutdown": {48, 210}, "getsockname": {51, 204}, "getsockopt": {55, 209},
	"setsockopt": {54, 208},
}

// callNumber returns the number of a system call; ok is false where there is none.
func callNumber(a *machine.Arch, name string) (number int, ok bool) {
	numbers, known := systemCalls[name]
	if !known {
		panic("sandbox: no system call " + name)
	}
	number = numbers[0]
	if a == machine.ARM64 {
		number = numbers[1]
	}
	return number, number >= 0
}

// CallName returns the name of the system call with that number, as far as it is known here; else it says the number.
func CallName(a *machine.Arch, number int) string {
	for name := range systemCalls {
		if n, ok := callNumber(a, name); ok && n == number {
			return name
		}
	}
	return fmt.Sprintf("system call %d", number)
}

// Refusal says which system call was refused, for a machine.Stop of kind Refused: "called fork (clone):
// not allowed here".
func Refusal(a *machine.Arch, stop machine.Stop) string {
	name := stop.Name
	if name == "" && stop.Call < 0 {
		return "made a system call that is not allowed here"
	}
	if stop.Narrow {
		return fmt.Sprintf(
			"called the 32-bit interface of the kernel (int $0x80, system call %d): not allowed here", stop.Call,
		)
	}
	if name == "" {
		name = CallName(a, stop.Call)
	}
	switch name {
	case "clone", "clone3":
		name = "fork (" + name + ")"
	case "open", "openat", "openat2":
		name = "open (" + name + ")"
	case "execve", "execveat":
		name = "exec (" + name + ")"
	}
	return "called " + name + ": not allowed here"
}
