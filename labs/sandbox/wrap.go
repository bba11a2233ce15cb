package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	_ "fiberlab/internal/platform/system" // ends a build for another system with one line
)

// Limits bound what a confined program may use. The zero value has the defaults.
type Limits struct {
	CPU time.Duration // of processor time, rounded up to seconds; 0: 20 s
}

const defaultCPU = 20 * time.Second

// childWord is the first argument of a process that is to confine itself.
const childWord = "fiberlab-confined"

// childStatus is the exit status of a child that could not confine itself or execute its command.
const childStatus = 126

// confinement is what a child is told: all that it needs to know.
type confinement struct {
	Limits   Limits
	Compiler *compilerFolders `json:",omitempty"` // the command is a compiler; nil: a submission
}

var initialised bool

func isChild() bool { return len(os.Args) > 3 && os.Args[1] == childWord }

// The limits of a child hold for the thread that takes them. The main goroutine stays on the main thread if it is
// locked here.
func init() {
	if isChild() {
		runtime.LockOSThread()
	}
}

// Init makes this process a confined child if it was started as one: then it executes its command and does not return.
// It is called first in main, and in TestMain, of each program that uses Wrap or Build.
func Init() {
	initialised = true
	if !isChild() {
		return
	}
	fmt.Fprintln(os.Stderr, "sandbox:", confine(os.Args[2], os.Args[3:]))
	os.Exit(childStatus)
}

// Wrap returns the command that confines itself within l and then executes argv: a program that Build has made, or a
// qemu-user with such a program. The kernel kills it when the thread that started it ends. It panics if Init has not
// been called.
func Wrap(argv []string, l Limits) []string { return wrap(argv, confinement{Limits: l}) }

// Tool returns the command that confines itself as a compiler is, and then executes argv: the path of a tool of the
// system, and its arguments. The tool may read the system's programs, what it is installed with, and the folders in
// read, and it writes no files. The kernel kills it when the thread that started it ends. Tool panics if Init has not
// been called.
func Tool(argv, read []string) []string {
	folders := &compilerFolders{Read: slices.Concat(
		[]string{
			"/usr/bin", "/usr/lib", "/usr/lib64", "/usr/libexec", "/bin", "/lib", "/lib64", "/nix/store", "/gnu/store",
		},
		homeOf(argv[0]), read,
	)}
	return wrap(argv, confinement{Limits: Limits{CPU: BuildCPU}, Compiler: folders})
}

// Unconfined returns an error if a command of Wrap or Tool could not confine itself or execute its command, else nil.
// ended is the error of its Wait; said is what it wrote to standard error.
func Unconfined(ended error, said string) error {
	exit := new(exec.ExitError)
	if errors.As(ended, &exit) && exit.ExitCode() == childStatus && strings.HasPrefix(said, "sandbox: ") {
		return errors.New(strings.TrimSpace(said))
	}
	return nil
}

func wrap(argv []string, c confinement) []string {
	if !initialised {
		panic("sandbox: call Init first in main")
	}
	told, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	argv = slices.Clone(argv)
	if path, err := exec.LookPath(argv[0]); err == nil {
		if path, err = filepath.Abs(path); err == nil {
			argv[0] = path // the child may have another working directory, and no PATH
		}
	}
	return slices.Concat(strings.Fields(os.Getenv("FIBERLAB_EXEC")), []string{self, childWord, string(told)}, argv)
}
