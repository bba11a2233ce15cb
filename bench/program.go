package bench

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed programs
var programs embed.FS

// program is a mechanism in C++, a process. It is built when it is opened, so that fiberlab itself needs no C++
// compiler.
type program struct{ *Process }

// Pid lets the caller count what the process does, which permits that: loop.h.
func (p program) Pid() int { return p.cmd.Process.Pid }

func openCoroutine() (Session, error) {
	return openProgram("coroutine.cc", "coroutine", "apt-get install g++")
}

func openBoost() (Session, error) {
	return openProgram("boost.cc", "boost/context/detail/fcontext.hpp", "apt-get install libboost-context-dev",
		"-lboost_context")
}

func openPCL() (Session, error) {
	return openProgram("pcl.cc", "pcl.h", "apt-get install libpcl1-dev", "-lpcl")
}

// openProgram builds and starts the program in that file. If the compiler does not find header, which the package of
// remedy has, the error is an *Absent.
func openProgram(file, header, remedy string, libraries ...string) (s Session, err error) {
	compiler := strings.Fields(cmp.Or(strings.TrimSpace(os.Getenv("CXX")), "g++"))
	compile := func(args ...string) ([]byte, error) {
		args = append(append(compiler[1:len(compiler):len(compiler)], "-std=c++20", "-O2"), args...)
		return exec.Command(compiler[0], args...).CombinedOutput()
	}
	if _, err := exec.LookPath(compiler[0]); err != nil {
		return nil, &Absent{"there is no C++ compiler " + compiler[0], "apt-get install g++"}
	}
	if _, err := compile("-fsyntax-only", "-include", header, "-x", "c++", os.DevNull); err != nil {
		return nil, &Absent{"the C++ compiler finds no <" + header + ">", remedy}
	}
	dir, err := os.MkdirTemp("", "fiberlab-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.CopyFS(dir, programs); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "program")
	args := append([]string{"-o", path, filepath.Join(dir, "programs", file)}, libraries...)
	if said, err := compile(args...); err != nil {
		return nil, fmt.Errorf("building %s: %w: %s", file, err, said)
	}
	argv := append(strings.Fields(os.Getenv("FIBERLAB_EXEC")), path)
	p, err := OpenProcess(context.Background(), file, 2*time.Minute, argv...)
	return program{p}, err
}
