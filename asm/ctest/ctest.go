// Package ctest compiles C and assembly programs and runs them, for tests.
//
// The compiler is $CC, else cgo's. If $FIBERLAB_EXEC is set, it is the command, with its arguments, that runs a program
// of the architecture under test. So the same tests run on a foreign architecture by emulation.
package ctest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Timeout is how long a program may run. Whatever is tested takes milliseconds; only what hangs gets here.
const Timeout = 20 * time.Second

// Skipped is the exit status by which a program says that it cannot be run on this machine.
const Skipped = 77

var compiler = sync.OnceValues(func() ([]string, error) {
	name := os.Getenv("CC")
	if name == "" {
		out, err := exec.Command("go", "env", "CC").Output()
		if err != nil {
			return nil, fmt.Errorf("find the C compiler: go env CC: %w (or set CC)", err)
		}
		name = string(out)
	}
	words := strings.Fields(name)
	if len(words) == 0 {
		return nil, errors.New("find the C compiler: go env CC names none (set CC)")
	}
	return words, nil
})

// Compile runs the C compiler with args. The error holds what the compiler said.
func Compile(args ...string) error {
	words, err := compiler()
	if err != nil {
		return err
	}
	cmd := exec.Command(words[0], append(words[1:], args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}

// Result is how a program ended.
type Result struct {
	Output string // standard output and standard error
	Status int    // exit status, or 128 + number of the signal that ended it
	Hung   bool   // it was killed after Timeout
}

// Passed reports whether the program exited with 0.
func (r Result) Passed() bool { return r.Status == 0 && !r.Hung }

// Run runs program with args. With emulated processors, it runs on cpu, a name the emulator knows, or on the emulator's
// default if cpu is "". The error is only for a program that cannot be started.
func Run(cpu, program string, args ...string) (Result, error) {
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	words := strings.Fields(os.Getenv("FIBERLAB_EXEC"))
	if cpu != "" && Emulated() {
		words = append(words, "-cpu", cpu)
	}
	words = append(append(words, program), args...)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	result := Result{Output: string(out), Hung: ctx.Err() != nil}
	if cmd.ProcessState == nil {
		return result, err
	}
	result.Status = exitStatus(cmd.ProcessState)
	return result, nil
}

// Emulated reports whether programs run under qemu: by FIBERLAB_EXEC, or because the whole system does, this program
// too.
func Emulated() bool {
	words := strings.Fields(os.Getenv("FIBERLAB_EXEC"))
	return len(words) > 0 && strings.Contains(filepath.Base(words[0]), "qemu") || takesAnyAdvice()
}

// takesAnyAdvice reports whether madvise(2) takes an advice that there is not for a hint, as qemu does and Linux does
// not.
var takesAnyAdvice = sync.OnceValue(func() bool {
	const none = 12345
	mem, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Munmap(mem) }()
	return unix.Madvise(mem, none) == nil
})
