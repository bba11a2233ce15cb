package sandbox

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What may be done to files, in groups.
const (
	readFiles = unix.LANDLOCK_ACCESS_FS_READ_FILE
	readTree  = readFiles | unix.LANDLOCK_ACCESS_FS_READ_DIR
	runTree   = readTree | unix.LANDLOCK_ACCESS_FS_EXECUTE
	runFile   = readFiles | unix.LANDLOCK_ACCESS_FS_EXECUTE // the kernel asks for both
	useFile   = readFiles | unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	writeTree = readTree | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	socketTree = unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE
	// the rights that a file can have
	onFiles = runFile | useFile | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// grant allows access to what is at path, and below it. A path that does not exist needs none.
type grant struct {
	path   string
	access uint64
}

// landlockVersion returns what this kernel knows of Landlock; 0 is nothing.
func landlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// restrictFiles leaves this thread, and what it executes, only the given access to files, no TCP, no abstract sockets
// and no signals to processes outside. It does what the kernel can, without Landlock nothing.
func restrictFiles(grants []grant) error {
	version := landlockVersion()
	if version == 0 {
		return nil
	}
	ruleset := unix.LandlockRulesetAttr{Access_fs: unix.LANDLOCK_ACCESS_FS_REFER - 1}
	size := unsafe.Sizeof(ruleset.Access_fs)
	if version >= 2 {
		ruleset.Access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		ruleset.Access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= 4 {
		ruleset.Access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		size += unsafe.Sizeof(ruleset.Access_net)
	}
	if version >= 5 {
		ruleset.Access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if version >= 6 {
		ruleset.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		size += unsafe.Sizeof(ruleset.Scoped)
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&ruleset)), size, 0)
	if errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	defer unix.Close(int(fd))
	for _, g := range grants {
		if err := g.add(int(fd), ruleset.Access_fs); err != nil {
			return fmt.Errorf("landlock: %s: %w", g.path, err)
		}
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	return nil
}

func (g grant) add(ruleset int, known uint64) error {
	f, err := os.OpenFile(g.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: g.access & known, Parent_fd: int32(f.Fd())}
	if !info.IsDir() {
		attr.Allowed_access &= onFiles
	}
	_, _, errno := unix.Syscall6(
		unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0,
	)
	if errno != 0 {
		return errno
	}
	return nil
}
