package machine

import (
	"fmt"
	"math"
	"os"
)

// memoryFile is the memory of a process, as the kernel shows it to a tracer: permissions of pages do not bind it.
type memoryFile struct{ *os.File }

func openMemory(pid int) (*memoryFile, error) {
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open the program's memory: %w", err)
	}
	return &memoryFile{f}, nil
}

func (f *memoryFile) read(addr uint64, into []byte) error {
	return transfer("read", addr, into, f.ReadAt)
}

func (f *memoryFile) write(addr uint64, from []byte) error {
	return transfer("write", addr, from, f.WriteAt)
}

// transfer reads or writes all bytes. The error names the first address at which that was not possible.
func transfer(what string, addr uint64, bytes []byte, by func([]byte, int64) (int, error)) error {
	if uint64(len(bytes)) > math.MaxInt64 || addr > math.MaxInt64-uint64(len(bytes)) {
		return unmapped(what, addr, len(bytes), addr)
	}
	if n, err := by(bytes, int64(addr)); err == nil && n == len(bytes) {
		return nil
	}
	const page = 4096
	for done := 0; done < len(bytes); { // again, page by page, to find which it is
		at := addr + uint64(done)
		n := min(len(bytes)-done, int(page-at%page))
		if _, err := by(bytes[done:done+n], int64(at)); err != nil {
			return unmapped(what, addr, len(bytes), at)
		}
		done += n
	}
	return nil
}

// UnmappedError says that a program has no memory where some was to be read or written.
type UnmappedError struct {
	What    string // read or write
	Address uint64 // of the first byte of Size
	Size    int
	At      uint64 // the first address at which nothing is mapped
}

func (e *UnmappedError) Error() string {
	return fmt.Sprintf("%s %d bytes at %#x: no memory is mapped at %#x", e.What, e.Size, e.Address, e.At)
}

func unmapped(what string, addr uint64, size int, bad uint64) error {
	return &UnmappedError{what, addr, size, bad}
}
