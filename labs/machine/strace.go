package machine

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// callLog reads what qemu-user reports of the system calls of its program (-strace), and judges them.
//
// In qemu-user the program and the stub are one process: a program that reaches the stub's socket can answer in the
// stub's name. So no answer of the stub is believed before the log has been read. Qemu writes the line of a call before
// it makes the call, and what has been written to a pipe cannot be taken back. So the line of the first call that is
// not allowed comes before all that the call does.
// Which instruction made the call, and where that lies, does not matter.
//
// The log comes on descriptor 2, where the program writes, too. What it writes stands between the beginning of a line,
// which has its length, and the end: so it is told apart, and cannot pass for lines.
type callLog struct {
	write   *os.File // qemu's end, until it has started
	read    *os.File
	done    chan struct{} // closed when the reader has ended
	output  *output       // gets what is not of the log
	allowed []string

	mu      sync.Mutex // guards what follows
	judges  bool       // whether calls are judged by now
	text    []byte     // what has been read and not been understood yet
	last    string     // the name of the last call
	refused string     // the name of the first call that is not allowed
}

// newCallLog makes a log in which these calls are allowed. Judge begins it.
func newCallLog(allowed []string, out *output) (*callLog, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	l := &callLog{write: w, read: r, done: make(chan struct{}), output: out, allowed: allowed}
	pipe, err := r.SyscallConn()
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(l.done)
		ended := false
		for err := error(nil); err == nil && !ended; {
			// A program that writes much must not wait for the end of its run.
			err = pipe.Read(func(fd uintptr) (read bool) {
				l.mu.Lock()
				defer l.mu.Unlock()
				read, ended = l.take(int(fd))
				return read || ended
			})
		}
	}()
	return l, nil
}

// take reads and understands what the pipe holds. It is called with mu.
func (l *callLog) take(fd int) (read, ended bool) {
	var buffer [4096]byte
	for {
		n, err := unix.Read(fd, buffer[:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return read, err != unix.EAGAIN
		case n == 0:
			return read, true
		}
		read = true
		l.text = append(l.text, buffer[:n]...)
		l.understand(false)
	}
}

// judge has the calls judged that are made from now on. The program stands still.
func (l *callLog) judge() {
	l.check()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.judges, l.text, l.last = true, nil, ""
}

// check returns the name of the first call that was not allowed, or "". The program stands still: all its calls are in
// the pipe.
func (l *callLog) check() string {
	if pipe, err := l.read.SyscallConn(); err == nil { // an error says that the log has been closed: nothing more comes
		_ = pipe.Control(func(fd uintptr) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.take(int(fd))
			l.understand(true)
		})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused
}

// lastCall returns the name of the last call that was made.
func (l *callLog) lastCall() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// started closes this process's copy of qemu's end.
func (l *callLog) started() { _ = l.write.Close() }

// close ends the log. What a process that has outlived its qemu writes there is not waited for.
func (l *callLog) close() {
	l.check()
	_ = l.write.Close()
	_ = l.read.Close()
	<-l.done
}

// Of a call qemu writes a number, of the thread, then the name and the arguments, and after it the result. Of a call
// that it does not know it writes one line without a result.
var (
	callLine    = regexp.MustCompile(`\d+ (?:Unknown syscall (\d+)|(\w+)\()`)
	writeLine   = regexp.MustCompile(`^\d+ write\((\d+),\w+,(\d+)\)`)
	failedWrite = []byte(" = -1 errno=")
)

// mostWritten is how much one call may write: so much goes into a pipe as a whole, or not at all (PIPE_BUF).
const mostWritten = 4096

// understand takes off text what is whole there. It is called with mu; still says that the program stands still.
func (l *callLog) understand(still bool) {
	for l.refused == "" {
		if m := writeLine.FindSubmatch(l.text); m != nil && l.judges && slices.Contains(l.allowed, "write") {
			l.last = "write"
			if !l.written(m, still) {
				return
			}
			continue
		}
		end := bytes.IndexByte(l.text, '\n')
		line := l.text[:max(end, 0)]
		if end < 0 && still {
			line = l.text
		}
		calls := callLine.FindAllSubmatch(line, -1)
		for _, m := range calls {
			l.last = string(m[2])
			if len(m[1]) > 0 {
				l.last = "system call " + string(m[1])
			}
			// A write whose line cannot be told from what it writes is not allowed.
			if l.judges && (!slices.Contains(l.allowed, l.last) || l.last == "write" && end >= 0) {
				l.refused = l.last
				return
			}
		}
		if end < 0 {
			return
		}
		if calls == nil && !bytes.HasPrefix(line, []byte("--- ")) { // a signal
			l.output.keep(l.text[:end+1]) // what qemu has to say
		}
		l.text = l.text[end+1:]
	}
	l.text = nil
}

// written takes a write to descriptor 1 or 2, whose line begins text, as m shows.
// It returns false if more must come first.
func (l *callLog) written(m [][]byte, still bool) bool {
	length, err := strconv.Atoi(string(m[2]))
	descriptor := string(m[1])
	if err != nil || length > mostWritten || descriptor != "1" && descriptor != "2" {
		l.refused = "write"
		return true
	}
	rest := l.text[len(m[0]):]
	if len(rest) == 0 {
		return false // the call is being made
	}
	if descriptor == "1" {
		length = 0 // it goes elsewhere
	}
	result := fmt.Appendf(nil, " = %s\n", m[2])
	if len(rest) < length+len(result) && !still {
		return false
	}
	// A program may write what looks like the end of a line. If it can be read in two ways it is not allowed.
	failed := bytes.HasPrefix(rest, failedWrite)
	done := len(rest) >= length && bytes.HasPrefix(rest[length:], result)
	end := bytes.IndexByte(rest, '\n')
	switch {
	case done && !failed:
		l.output.keep(rest[:length])
		l.text = rest[length+len(result):]
	case failed && !done && end >= 0:
		l.text = rest[end+1:]
	default:
		l.refused = "write"
	}
	return true
}
