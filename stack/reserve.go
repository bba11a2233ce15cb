package stack

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A Go process that has no mappings or addresses left cannot grow its heap or
// start a thread, and dies before it can handle an error. So a pool stops
// short of both limits.
const (
	// mappingReserve is the number of mappings left to the rest of the process.
	mappingReserve = 1024
	// addressReserve is the number of bytes of address space left to it where that is limited. The Go heap grows by 64
	// MB at a time, and glibc's malloc reserves as much for a thread.
	addressReserve = 256 << 20
)

// checkAddresses fails with ENOMEM where a mapping of length bytes would eat into
// the reserve of a process whose address space is limited.
func checkAddresses(length uintptr) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err != nil || limit.Cur == unix.RLIM_INFINITY {
		return nil
	}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return nil
	}
	size, _, _ := strings.Cut(string(text), " ")
	pages, err := strconv.ParseUint(size, 10, 64)
	if err != nil {
		return nil
	}
	if pages*uint64(pageSize)+uint64(length)+addressReserve > limit.Cur {
		return unix.ENOMEM
	}
	return nil
}

// cuts counts the guards made by mprotect in this process. Each is a mapping of
// its own and starts another one above it.
var cuts atomic.Int64

// maxMappings is the kernel's limit on the mappings of a process, 0 if unknown.
var maxMappings = sync.OnceValue(func() int64 {
	text, err := os.ReadFile("/proc/sys/vm/max_map_count")
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0
	}
	return n
})

// cutMapping claims the mappings of one more guard made by mprotect.
func cutMapping() error {
	n := cuts.Add(1)
	if limit := maxMappings(); limit > 0 && 2*n > limit-min(mappingReserve, limit/8) {
		joinMappings(1)
		return errMappings(unix.ENOMEM)
	}
	return nil
}

// joinMappings gives back what n calls of cutMapping claimed.
func joinMappings(n int64) { cuts.Add(-n) }

// errMappings is the error of a guard that mprotect could not make.
func errMappings(cause error) error {
	return fmt.Errorf(
		"%w: mprotect guards take two mappings each, %d are held, and vm.max_map_count allows %d mappings: "+
			"raise it (sysctl -w vm.max_map_count=N) and start the program again, hold fewer stacks, "+
			"or use GuardMadvise (Linux 6.13): %w",
		ErrExhausted, cuts.Load(), maxMappings(), cause,
	)
}
