package sandbox

import (
	"path/filepath"
	"strings"
	"sync"

	"fiberlab/labs/machine"
)

// Missing says in one line what this kernel cannot confine, or "" if it can all. An emulator of processors, and some
// containers, have neither Landlock nor filters of system calls.
var Missing = sync.OnceValue(func() string {
	var lost []string
	if landlockVersion() == 0 {
		lost = append(lost, "no Landlock: what a submission may read is bounded less closely")
	}
	if !hasSeccomp() {
		lost = append(lost, "no filters of system calls (seccomp): a submission may call what it likes")
	}
	return strings.Join(lost, "; ")
})

// isProgram is whether argv is a program that the kernel alone starts, for this architecture; else it is an emulator
// with its program.
func isProgram(argv []string) bool {
	e, err := readELF(argv[0])
	return err == nil && e.arch == machine.Native() && !e.interpreted &&
		!strings.HasPrefix(filepath.Base(argv[0]), "qemu-")
}
