package machine

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// command returns what is executed instead of argv.
func command(argv []string, o Options) []string {
	if o.Wrap != nil {
		return o.Wrap(argv)
	}
	return argv
}

// spawn starts a process in a new process group, with these files as standard output and standard error. It is killed
// when the calling thread ends. If it is traced, its stack and mappings are at the same addresses every time where the
// system permits that. An emulator is at other addresses every time, so that its program cannot know where it is; the
// program's own are the same.
func spawn(argv []string, o Options, out, err *os.File, trace bool) (*os.Process, error) {
	path, missing := exec.LookPath(argv[0])
	if missing != nil {
		return nil, missing
	}
	none, missing := os.Open(os.DevNull)
	if missing != nil {
		return nil, missing
	}
	defer none.Close()
	if before, _, errno := unix.RawSyscall(unix.SYS_PERSONALITY, keepPersonality, 0, 0); errno == 0 && trace {
		_, _, _ = unix.RawSyscall(unix.SYS_PERSONALITY, before|sameAddresses, 0, 0)
		defer func() { _, _, _ = unix.RawSyscall(unix.SYS_PERSONALITY, before, 0, 0) }()
	}
	env := o.Env
	if env == nil {
		env = []string{}
	}
	return os.StartProcess(path, argv, &os.ProcAttr{
		Dir: o.Dir, Env: env, Files: []*os.File{none, out, err},
		Sys: &syscall.SysProcAttr{Ptrace: trace, Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
}

const (
	keepPersonality = 0xffffffff // asks for the personality and does not change it
	sameAddresses   = 0x0040000  // ADDR_NO_RANDOMIZE
)

// output takes what a program prints.
type output struct {
	apart *output  // what it prints to standard error; nil: that is in here
	write *os.File // the program's end, until it has started
	read  *os.File
	done  chan struct{} // closed when there is no more
	once  sync.Once
	into  io.Writer
	limit int // bytes that into gets

	mu   sync.Mutex // guards what follows
	kept int        // bytes that into has got
	tail []byte     // what came last
}

// outputs are as o wants them.
func outputs(o Options) (*output, error) {
	limit := o.Limit
	if limit == 0 {
		limit = OutputLimit
	}
	out, err := newOutput(o.Output, limit)
	if err != nil || o.Errors == nil {
		return out, err
	}
	if out.apart, err = newOutput(o.Errors, limit); err != nil {
		out.close()
		return nil, err
	}
	return out, nil
}

// errors is where standard error goes.
func (o *output) errors() *output {
	if o.apart != nil {
		return o.apart
	}
	return o
}

// newOutput copies what the program prints to into, up to limit bytes. What follows is read and dropped, so that
// the program does not wait.
func newOutput(into io.Writer, limit int) (*output, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out := &output{write: w, read: r, done: make(chan struct{}), into: into, limit: limit}
	go func() {
		defer close(out.done)
		buffer := make([]byte, 4096)
		read := r.Read
		for {
			n, err := read(buffer)
			out.keep(buffer[:n])
			if errors.Is(err, os.ErrDeadlineExceeded) {
				read, err = readWithoutWaiting(r), nil
			}
			if err != nil {
				return
			}
		}
	}()
	return out, nil
}

// keep takes what the program has printed.
func (o *output) keep(text []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tail = append(o.tail, text...)
	o.tail = o.tail[max(0, len(o.tail)-512):]
	if most := min(len(text), o.limit-o.kept); most > 0 && o.into != nil {
		_, _ = o.into.Write(text[:most])
		o.kept += most
	}
}

// pipeSize is how much a pipe holds.
const pipeSize = 64 << 10

// readWithoutWaiting reads from a pipe what it holds, and does not wait for more.
func readWithoutWaiting(r *os.File) func([]byte) (int, error) {
	_ = r.SetReadDeadline(time.Time{})
	taken := 0
	return func(into []byte) (n int, err error) {
		pipe, err := r.SyscallConn()
		if err != nil || taken >= pipeSize {
			return 0, io.EOF
		}
		err = pipe.Read(func(fd uintptr) bool {
			n, _ = unix.Read(int(fd), into)
			return true
		})
		n = max(n, 0)
		if n == 0 || err != nil {
			return 0, io.EOF
		}
		taken += n
		return n, nil
	}
}

// started closes this process's copy of the program's end.
func (o *output) started() {
	_ = o.write.Close()
	_ = o.errors().write.Close()
}

// close waits for the last of the output. A process that the program left behind does not hold it up: after a second
// there is only what has been printed by then.
func (o *output) close() {
	if o.apart != nil {
		o.apart.close()
	}
	o.once.Do(func() {
		_ = o.write.Close()
		_ = o.read.SetReadDeadline(time.Now().Add(time.Second))
		<-o.done
		_ = o.read.Close()
	})
}

// lastLine returns the last line that was printed, to standard error if that is apart, after close.
func (o *output) lastLine() string {
	o = o.errors()
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(o.tail)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
