package bench

import (
	"bufio"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

//go:embed programs
var programs embed.FS

// program is a mechanism in C++ that runs in a process of its own. It is built when it is opened, so that fiberlab
// itself needs no C++ compiler.
type program struct {
	process *exec.Cmd
	in      io.WriteCloser // a number of round trips a line
	out     *bufio.Reader  // a number of nanoseconds a line
}

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
	p := &program{process: exec.Command(argv[0], argv[1:]...)}
	p.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the one who measures
	if p.in, err = p.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := p.process.Start(); err != nil {
		return nil, err
	}
	// The answer shows that the program has begun, and no longer needs its file.
	if _, err := p.Run(1); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *program) Pid() int { return p.process.Process.Pid }

func (p *program) Run(n int) (Sample, error) {
	if err := PinHere(p.process.Process.Pid); err != nil {
		return Sample{}, err
	}
	if _, err := fmt.Fprintln(p.in, trips(n)); err != nil {
		return Sample{}, err
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		return Sample{}, fmt.Errorf("the program ended: %w", err)
	}
	took, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	return Sample{2 * trips(n), time.Duration(took)}, err
}

// Close ends the program's input, and so the program.
func (p *program) Close() error {
	return errors.Join(p.in.Close(), p.process.Wait())
}
