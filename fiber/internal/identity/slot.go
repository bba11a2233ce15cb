//go:build amd64 || arm64 || riscv64

package identity

// ThreadWord returns the word that lies offset bytes from the thread pointer of
// the calling thread. A word of static thread-local
// storage must lie there. It costs about a nanosecond and never blocks.
func ThreadWord(offset uintptr) uintptr

// SlotReader returns the address of a C function, uintptr_t (*)(void), that
// reads the calling thread's g slot where the toolchain has placed
// it. Only a thread that is in a C call made from Go may call it.
func SlotReader() uintptr
