package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"fiberlab/labs/machine"
)

// Compiler returns the command of the C compiler for that architecture: for the native one $CC, else Go's, and for the
// other one its GNU compiler, such as aarch64-linux-gnu-gcc. The error says what to install.
func Compiler(a *machine.Arch) ([]string, error) {
	c, err := compilerFor(a)
	if err != nil {
		return nil, err
	}
	return slices.Clone(c.words), nil
}

// CompilerVersion returns the command that Compiler returns, and the first line of what it says of its version.
func CompilerVersion(a *machine.Arch) (string, error) {
	c, err := compilerFor(a)
	if err != nil {
		return "", err
	}
	return strings.Join(c.words, " ") + ": " + c.version, nil
}

// compiler is a C compiler and what it needs to see.
type compiler struct {
	words   []string
	version string   // the first line of what it says
	clang   bool     // its assembler is its own, which does not tell what files it includes
	headers []string // the system's folders of headers
	folders []string // all folders that it reads, those included
}

var (
	compilersLock sync.Mutex
	compilers     = map[string]*compiler{} // by the command and PATH; locked by compilersLock
)

func compilerFor(a *machine.Arch) (*compiler, error) {
	words := []string{a.Triple + "-gcc"}
	remedy := fmt.Sprintf(
		"scripts/need foreign installs it (on Debian and Ubuntu: gcc-%s)", strings.ReplaceAll(a.Triple, "_", "-"),
	)
	if a == machine.Native() {
		words = nativeCompiler()
		remedy = "install gcc, or set CC"
	}
	compilersLock.Lock()
	defer compilersLock.Unlock()
	key := strings.Join(append(words, a.Name, os.Getenv("PATH")), "\x00")
	if c, known := compilers[key]; known {
		return c, nil
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return nil, fmt.Errorf("there is no C compiler for %s: %s is not on PATH: %s", a.Name, words[0], remedy)
	}
	c := &compiler{words: words}
	made, err := c.ask("-dumpmachine")
	if err != nil {
		return nil, err
	}
	if cpu, _, _ := strings.Cut(a.Triple, "-"); !strings.HasPrefix(made, cpu) {
		return nil, fmt.Errorf(
			"the C compiler %s makes programs for %s, not for %s: %s", strings.Join(words, " "),
			strings.TrimSpace(made), a.Name, remedy,
		)
	}
	version, err := c.ask("--version")
	if err != nil {
		return nil, err
	}
	c.clang = strings.Contains(version, "clang")
	c.version, _, _ = strings.Cut(version, "\n")
	if err := c.explore(path, a); err != nil {
		return nil, err
	}
	compilers[key] = c
	return c, nil
}

// ask runs the compiler with words, unconfined, and returns all that it says.
func (c *compiler) ask(words ...string) (string, error) {
	command := exec.Command(c.words[0], slices.Concat(c.words[1:], words)...)
	command.Env = append(os.Environ(), "LC_ALL=C")
	command.SysProcAttr = separate()
	out, err := command.CombinedOutput()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		said, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		err = errors.New(said)
	}
	if err != nil {
		return "", fmt.Errorf("the C compiler %s does not work: %w", strings.Join(c.words, " "), err)
	}
	return string(out), nil
}

// separate puts a compiler into a process group of its own: an interrupt that a terminal sends to the grader's group
// does not end it.
func separate() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// explore finds the folders of the compiler that lies at path.
func (c *compiler) explore(path string, a *machine.Arch) error {
	said, err := c.ask("-E", "-v", "-x", "c", os.DevNull)
	if err != nil {
		return err
	}
	_, list, _ := strings.Cut(said, "search starts here:\n#include <")
	list, _, _ = strings.Cut(list, "End of search list")
	for line := range strings.Lines(list) {
		if folder := strings.TrimSpace(line); filepath.IsAbs(folder) {
			c.headers = append(c.headers, realPath(folder))
		}
	}
	c.folders = append(
		[]string{
			"/usr/bin", "/usr/include", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/local/include",
			"/usr/local/lib", "/usr/" + a.Triple, "/bin", "/lib", "/lib64", "/nix/store", "/gnu/store",
		},
		c.headers...)
	if said, err = c.ask("-print-search-dirs"); err != nil {
		return err
	}
	for line := range strings.Lines(said) {
		_, list, _ := strings.Cut(strings.TrimSpace(line), ": ")
		for _, folder := range strings.Split(strings.TrimPrefix(list, "="), ":") {
			c.folders = append(c.folders, realPath(folder))
		}
	}
	for _, word := range c.words[1:] {
		if folder, ok := strings.CutPrefix(word, "-L"); ok {
			c.folders = append(c.folders, realPath(folder))
		}
	}
	c.folders = append(c.folders, homeOf(path)...)
	slices.Sort(c.folders)
	c.folders = slices.DeleteFunc(
		slices.Compact(c.folders), func(f string) bool { return !filepath.IsAbs(f) || f == "/" },
	)
	return nil
}

// homeOf are the folders of a program that is installed elsewhere than in /usr. It finds its own things in the folder
// above: /opt/gcc/bin/gcc in /opt/gcc.
func homeOf(path string) []string {
	if home := filepath.Dir(filepath.Dir(realPath(path))); filepath.IsAbs(home) && home != "/" && home != "/usr" {
		return []string{home, filepath.Dir(path)}
	}
	return nil
}

// realPath is the path without links, or, of what does not exist, without detours.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

func nativeCompiler() []string {
	words := strings.Fields(os.Getenv("CC"))
	if len(words) == 0 {
		ask := exec.Command("go", "env", "CC")
		ask.SysProcAttr = separate()
		out, _ := ask.Output()
		words = strings.Fields(string(out))
	}
	if len(words) == 0 {
		words = []string{"gcc"}
	}
	return words
}
